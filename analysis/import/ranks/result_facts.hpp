// Looks at a rank's result before anything is read from it: another host wrote it, and nothing in it is taken for
// granted.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace ddpprof::ranks {

struct WrongFact {
  std::string found;     // "'step_ns.measured' holds a text"
  std::string expected;  // "whole numbers from 0 to 72057594037927936"
};

// The first fact that ddpprof-worker cannot have written so: of another type, or a number beyond what there is, so that
// sums over ranks and steps stay numbers. Facts that are not there have a default and are passed over, but that a rank
// which `trained` and was not traced says how long its steps took. Facts that nothing reads may be anything.
std::optional<WrongFact> wrong_fact(const nlohmann::json& result, bool trained);

}  // namespace ddpprof::ranks
