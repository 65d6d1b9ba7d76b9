// A file that appears under its name only once it is whole.
#pragma once

#include <filesystem>
#include <fstream>
#include <string_view>

namespace ddpprof::export_ {

class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);  // writes to "<path>.partial"; throws ExportError
  ~OutputFile();                                    // without finish(): the partial file is removed
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  void finish();  // closes and renames; throws ExportError when anything could not be written

 private:
  std::filesystem::path path_, partial_;
  std::ofstream stream_;
  bool finished_ = false;
};

}  // namespace ddpprof::export_
