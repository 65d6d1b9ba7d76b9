#include "runner/errors/user_error.hpp"

#include <utility>

namespace ddpprof {

UserError::UserError(const std::string& wrong, std::string expected, std::string remedy)
    : std::runtime_error(wrong), expected_(std::move(expected)), remedy_(std::move(remedy)) {}

std::string UserError::text() const {
  std::string text = what();
  if (!expected_.empty()) text += " (expected " + expected_ + ")";
  if (!remedy_.empty()) text += "; " + remedy_;
  return text;
}

}  // namespace ddpprof
