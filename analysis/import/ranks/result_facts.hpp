// Checks a rank's result before it is used. The file may come from another host.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace ddpprof::ranks {

struct WrongFact {
  std::string found;     // "'step_ns.measured' holds a text"
  std::string expected;  // "whole numbers from 0 to 72057594037927936"
};

// Returns the first fact with a wrong type or a number out of range, nullopt if there is none. The ranges keep sums
// over ranks and steps within 64 bits. A missing fact has a default, with one exception: a rank that `trained` without
// the tracer must have the durations of its steps. Facts that are not used are not checked.
std::optional<WrongFact> wrong_fact(const nlohmann::json& result, bool trained);

}  // namespace ddpprof::ranks
