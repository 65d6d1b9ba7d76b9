// Tells a test with many rounds whether to run all of them.
#pragma once

#include <cstdlib>

namespace ddpprof::test {

/// True if DDPPROF_LONG_TESTS is set, as in scripts/test --all. Otherwise a test with many similar rounds runs a part.
inline bool long_tests() { return std::getenv("DDPPROF_LONG_TESTS") != nullptr; }

}  // namespace ddpprof::test
