// The file to which an export is written until it is complete.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "analysis/export/export.hpp"
#include "analysis/export/temporary_file.hpp"

namespace ddpprof::export_ {

class PartialFile {
 public:
  // Creates a new file "<target>.partial.<number>", which is removed unless it is finished. Throws ExportError.
  explicit PartialFile(const std::filesystem::path& target) {
    try {
      file_.emplace(target, ".partial");
    } catch (const std::filesystem::filesystem_error& error) {
      throw ExportError(target.string() + ": cannot be created: " + error.code().message() +
                        "; give a path in an existing, writable folder");
    }
  }

  const std::filesystem::path& path() const { return file_->path(); }
  std::string target() const { return file_->target().string(); }

  void finish() {  // throws ExportError
    try {
      file_->take_place();
    } catch (const std::filesystem::filesystem_error& error) {
      throw ExportError(target() + ": cannot be renamed into place: " + error.code().message());
    }
  }

 private:
  std::optional<TemporaryFile> file_;
};

}  // namespace ddpprof::export_
