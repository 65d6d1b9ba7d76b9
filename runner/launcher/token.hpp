// The run's token: a secret that every rank of one run knows, and proves to know without sending it.
#pragma once

#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ddpprof::launcher {

inline constexpr const char* token_file_variable = "DDPPROF_TOKEN_FILE";

// The file cannot serve as a token. The message names it and what to do.
class TokenError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Token {
 public:
  explicit Token(std::string secret) : secret_(std::move(secret)) {}

  // `purpose` keeps the proof of one thing from standing for another.
  std::string prove(std::string_view purpose, std::string_view text) const;
  bool proves(std::string_view purpose, std::string_view text, std::string_view proof) const;

  // The reading end of a pipe that holds the secret, for the program that this process becomes: neither its command
  // line nor its environment shows it. Throws TokenError.
  int to_pipe() const;

 private:
  std::string secret_;
};

// From a file, or a pipe that somebody writes to within `patience`, without the white space around it. Only its owner,
// this user or root, may be able to read it. Throws TokenError.
Token read_token(const std::filesystem::path& path,
                 std::chrono::milliseconds patience = std::chrono::milliseconds(30'000));
Token take_token(int pipe);  // what to_pipe made; closes it. Throws TokenError

}  // namespace ddpprof::launcher
