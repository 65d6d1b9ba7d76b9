// Nsight Systems exports as files: any bytes are read as far as they are valid, or give an error message.
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/fuzz/nsight_checks.hpp"

using namespace ddpprof;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  fuzz::read_nsight(folder.file("export.sqlite", fuzz::text_of(data, size)), folder);
  return 0;
}
