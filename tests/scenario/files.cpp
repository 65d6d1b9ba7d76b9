#include "tests/scenario/files.hpp"

namespace ddpprof::scenario::test {

std::filesystem::path source_path(const std::string& relative) {
  return std::filesystem::path(DDPPROF_SOURCE_DIR) / relative;
}

}  // namespace ddpprof::scenario::test
