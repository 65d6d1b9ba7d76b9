// Base of all errors that are shown to a user: what failed and why, what was expected, what to do.
#pragma once

#include <stdexcept>
#include <string>

namespace ddpprof {

// A room derives one class per cause. The command line maps the classes to exit codes (cli/failure.cpp).
class UserError : public std::runtime_error {
 public:
  // `expected` and `remedy` may be empty. No argument ends in a full stop.
  explicit UserError(const std::string& wrong, std::string expected = "", std::string remedy = "");

  // "<wrong> (expected <expected>); <remedy>", without the parts that are empty.
  std::string text() const;

 private:
  std::string expected_, remedy_;
};

}  // namespace ddpprof
