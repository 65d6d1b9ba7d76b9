#pragma once

#include <string>

namespace ddpprof::fit {

// Why an answer is not given. Functions return std::optional<Refusal>: empty if the answer can be given.
struct Refusal {
  std::string reason;
};

}  // namespace ddpprof::fit
