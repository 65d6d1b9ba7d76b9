// Says whether this program runs under a sanitizer: the tests' own files are compiled without knowing it.
#pragma once

#include <dlfcn.h>

namespace ddpprof::test {

/// True where the address sanitizer's library is loaded: it brings its own allocator and a shadow of 20 TB.
inline bool under_address_sanitizer() { return dlsym(RTLD_DEFAULT, "__asan_init") != nullptr; }

/// True where the thread sanitizer's library is loaded.
inline bool under_thread_sanitizer() { return dlsym(RTLD_DEFAULT, "__tsan_init") != nullptr; }

}  // namespace ddpprof::test
