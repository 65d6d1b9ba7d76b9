#include "runner/launcher/exchange/digest.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace ddpprof::launcher {
namespace {

std::string hexadecimal(const unsigned char* bytes, std::size_t count) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

void check(bool done) {
  if (!done) throw std::runtime_error("OpenSSL's libcrypto cannot compute SHA-256 on this machine");
}

}  // namespace

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  check(state_->context != nullptr && EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) { check(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1); }

std::string Sha256::digits() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int count = 0;
  check(EVP_DigestFinal_ex(state_->context, digest, &count) == 1);
  return hexadecimal(digest, count);
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int count = 0;
  check(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &count) != nullptr);
  return hexadecimal(digest, count);
}

bool equal_in_constant_time(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

std::string random_digits(int bytes) {
  std::vector<unsigned char> drawn(static_cast<std::size_t>(bytes));
  std::size_t got = 0;
  while (got < drawn.size()) {
    const ssize_t count = getrandom(drawn.data() + got, drawn.size() - got, 0);
    if (count > 0) got += static_cast<std::size_t>(count);
    if (count < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return hexadecimal(drawn.data(), drawn.size());
}

}  // namespace ddpprof::launcher
