// Runs a target without a fuzzer, on each file of the given folders, in the order of names.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/fuzz/fuzz_target.hpp"

int main(int count, char** arguments) {
  std::vector<std::filesystem::path> files;
  for (int at = 1; at < count; ++at)
    for (const auto& entry : std::filesystem::directory_iterator(arguments[at])) files.push_back(entry.path());
  std::ranges::sort(files);
  for (const std::filesystem::path& path : files) {
    // Printed first, so that the last line names the input that ended the process.
    std::fprintf(stderr, "%s\n", path.c_str());
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  std::fprintf(stderr, "%zu inputs replayed\n", files.size());
  return files.empty() ? 1 : 0;  // a folder without inputs tests nothing
}
