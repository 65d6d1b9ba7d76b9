#pragma once

#include <stdexcept>
#include <string>

namespace ddpprof::fit {

// Thrown when the data do not suffice for the answer (exit code 5). what() is "reason; advice".
class NotSupported : public std::runtime_error {
 public:
  NotSupported(const std::string& reason, const std::string& advice)
      : std::runtime_error(reason + "; " + advice), reason_(reason), advice_(advice) {}
  const std::string& reason() const { return reason_; }
  const std::string& advice() const { return advice_; }

 private:
  std::string reason_;
  std::string advice_;
};

}  // namespace ddpprof::fit
