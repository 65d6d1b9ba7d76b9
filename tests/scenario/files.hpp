// Paths of the files that the tests of scenarios read.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace ddpprof::scenario::test {

// A file or folder of the source tree.
std::filesystem::path source_path(const std::string& relative);

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// The names, without ".yaml", of a folder's scenario files, sorted.
inline std::vector<std::string> scenario_names(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(source_path(folder))) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

// "zero-workers" as a test's name.
inline std::string underscored(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace ddpprof::scenario::test
