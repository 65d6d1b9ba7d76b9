// SHA-256 of data in pieces, and HMAC-SHA256, both by OpenSSL. Results are hexadecimal digits.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace ddpprof::launcher {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::string_view bytes);
  std::string digits();  // the digest of all added bytes; no call may follow

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string hmac_sha256(std::string_view key, std::string_view text);
bool equal_in_constant_time(std::string_view one, std::string_view other);
std::string random_digits(int bytes);  // `bytes` random bytes from the kernel, two digits per byte

}  // namespace ddpprof::launcher
