#include "runner/launcher/exchange/token.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runner/launcher/exchange/digest.hpp"

namespace ddpprof::launcher {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A shorter secret could be guessed from a recorded proof. A longer one would not fit into a pipe in one write.
constexpr std::size_t least_bytes = 16, most_bytes = 4096;
constexpr const char* how_to_make =
    "make one with: (umask 077; head -c 32 /dev/urandom | base64 > FILE), and give each host a copy";

struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

std::string message(const std::string& name, const std::string& wrong) {
  return fmt::format("the token's file {} {}", name, wrong);
}

// Reads to the end, but stops above the largest size.
std::string read_all(int descriptor, const std::string& name, milliseconds patience) {
  const auto end = Clock::now() + patience;
  std::string text;
  char part[most_bytes];
  while (text.size() <= 2 * most_bytes) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now()).count();
    pollfd ready{.fd = descriptor, .events = POLLIN, .revents = 0};
    const int found = left > 0 ? poll(&ready, 1, static_cast<int>(left)) : 0;
    if (found < 0 && errno == EINTR) continue;
    if (found == 0)
      throw TokenError(message(name, fmt::format("is a pipe that no process wrote to and closed within {:.3g} s",
                                                 std::chrono::duration<double>(patience).count())));
    const ssize_t count = found < 0 ? -1 : read(descriptor, part, sizeof part);
    if (count == 0) break;
    if (count < 0 && errno != EINTR && errno != EAGAIN)
      throw TokenError(message(name, fmt::format("cannot be read: {}", std::strerror(errno))));
    if (count > 0) text.append(part, static_cast<std::size_t>(count));
  }
  return text;
}

std::string without_white_space(const std::string& text) {
  constexpr const char* white = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(white);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(white) - begin + 1);
}

}  // namespace

std::string Token::prove(std::string_view purpose, std::string_view text) const {
  return hmac_sha256(secret_, fmt::format("ddpprof {} 1\n{}", purpose, text));
}

bool Token::proves(std::string_view purpose, std::string_view text, std::string_view proof) const {
  return equal_in_constant_time(prove(purpose, text), proof);
}

int Token::to_pipe() const {
  int ends[2];
  if (pipe(ends) != 0) throw TokenError(fmt::format("cannot create a pipe for the token: {}", std::strerror(errno)));
  const Descriptor writing{ends[1]};
  if (write(ends[1], secret_.data(), secret_.size()) == static_cast<ssize_t>(secret_.size())) return ends[0];
  const int error = errno;
  close(ends[0]);
  throw TokenError(fmt::format("cannot write the token to a pipe: {}", std::strerror(error)));
}

Token read_token(const std::filesystem::path& path, milliseconds patience) {
  const std::string name = path.string();
  // Do not block: a pipe may not have a writer yet.
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  struct stat status {};
  if (file.number < 0 || fstat(file.number, &status) != 0)
    throw TokenError(message(name, fmt::format("cannot be opened: {}; {}", std::strerror(errno), how_to_make)));
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
    throw TokenError(message(name, "is neither a file nor a pipe"));
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    throw TokenError(message(name, fmt::format("has mode {:04o}, so other users than its owner may use it: expected "
                                               "0600 or 0400; run chmod 600 on it, and make a new token if others may "
                                               "have read this one",
                                               status.st_mode & 07777)));
  if (status.st_uid != geteuid() && status.st_uid != 0)
    throw TokenError(
        message(name, fmt::format("belongs to user {}: expected this user, {}, or root", status.st_uid, geteuid())));
  const std::string secret = without_white_space(read_all(file.number, name, patience));
  if (secret.size() < least_bytes || secret.size() > most_bytes)
    throw TokenError(message(name, fmt::format("contains {} bytes: expected {} to {}; {}",
                                               secret.size() > most_bytes ? "too many" : std::to_string(secret.size()),
                                               least_bytes, most_bytes, how_to_make)));
  return Token(secret);
}

Token take_token(int pipe) {
  const Descriptor own{pipe};
  const std::string secret = read_all(pipe, fmt::format("of descriptor {}", pipe), milliseconds(5'000));
  if (secret.size() < least_bytes) throw TokenError(fmt::format("descriptor {} does not contain a token", pipe));
  return Token(secret);
}

}  // namespace ddpprof::launcher
