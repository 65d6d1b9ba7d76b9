// arc4random() for systems with glibc 2.34, which has none: the static libstdc++ of Debian 12 refers to it.
#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

// Returns 32 random bits of the kernel. Ends the process if the kernel has no random numbers, as glibc's function does.
extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t bits = 0;
  while (getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
    if (errno != EINTR) std::abort();
  }
  return bits;
}
