// The run's token: a secret shared by all ranks of a run. A rank proves that it has the token without sending it.
#pragma once

#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ddpprof::launcher {

inline constexpr const char* token_file_variable = "DDPPROF_TOKEN_FILE";

// The file cannot be used as a token. The message names the file and what to do.
class TokenError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Token {
 public:
  explicit Token(std::string secret) : secret_(std::move(secret)) {}

  // Returns the HMAC of `text`. `purpose` prevents the use of a proof for another purpose.
  std::string prove(std::string_view purpose, std::string_view text) const;
  bool proves(std::string_view purpose, std::string_view text, std::string_view proof) const;

  // Returns the reading end of a pipe that contains the secret, for the program that this process will exec. So the
  // secret is neither in its command line nor in its environment. Throws TokenError.
  int to_pipe() const;

 private:
  std::string secret_;
};

// Reads a token from a file, or from a pipe that is written and closed within `patience`. White space at both ends is
// removed. The file must belong to this user or root, and other users must have no access. Throws TokenError.
Token read_token(const std::filesystem::path& path,
                 std::chrono::milliseconds patience = std::chrono::milliseconds(30'000));
Token take_token(int pipe);  // reads from to_pipe's descriptor and closes it. Throws TokenError

}  // namespace ddpprof::launcher
