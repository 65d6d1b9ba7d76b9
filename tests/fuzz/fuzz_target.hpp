// Common parts of the fuzz targets: a file with the input, a check that stops the run, the function that libFuzzer
// calls.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

// Called for each input. An exception that it does not catch is a finding: a target catches only the exceptions that
// its reader documents.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace ddpprof::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Stops the run if `holds` is false, in every build type.
inline void require(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

// A folder of this process, in memory if the machine has a memory file system. Removed at the normal end of the
// process.
class Folder {
 public:
  Folder() {
    std::error_code error;
    const std::filesystem::path memory = "/dev/shm";
    const bool in_memory = std::filesystem::is_directory(memory, error) && ::access(memory.c_str(), W_OK) == 0;
    std::string name = ((in_memory ? memory : std::filesystem::temp_directory_path()) / "ddpprof-fuzz-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("mkdtemp failed for " + name);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Writes the file again and returns its path.
  std::filesystem::path file(std::string_view name, std::string_view bytes) const {
    const std::filesystem::path path = path_ / name;
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) throw std::runtime_error("cannot write " + path.string());
    return path;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace ddpprof::fuzz
