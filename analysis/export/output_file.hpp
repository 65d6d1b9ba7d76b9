// A file that appears under its name only when it is complete.
#pragma once

#include <filesystem>
#include <fstream>
#include <string_view>

#include "analysis/export/partial_file.hpp"

namespace ddpprof::export_ {

class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& path);  // writes to a temporary file beside it; throws ExportError
  OutputFile(const OutputFile&) = delete;                  // without finish(): the temporary file is removed
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  void finish();  // closes and renames; throws ExportError if a part could not be written

 private:
  PartialFile file_;
  std::ofstream stream_;
};

}  // namespace ddpprof::export_
