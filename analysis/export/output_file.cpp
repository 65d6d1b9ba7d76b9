#include "analysis/export/output_file.hpp"

#include <cerrno>
#include <cstring>
#include <system_error>

#include "analysis/export/export.hpp"

namespace ddpprof::export_ {

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)), partial_(path_) {
  partial_ += ".partial";
  errno = 0;
  stream_.open(partial_, std::ios::binary | std::ios::trunc);
  if (!stream_) {
    throw ExportError(path_.string() + ": cannot be created: " + std::strerror(errno != 0 ? errno : EIO) +
                      "; give a path in an existing, writable folder");
  }
}

OutputFile::~OutputFile() {
  if (finished_) return;
  stream_.close();
  std::error_code ignored;
  std::filesystem::remove(partial_, ignored);
}

void OutputFile::write(std::string_view text) {
  stream_.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!stream_) throw ExportError(path_.string() + ": cannot be written; is the disk full?");
}

void OutputFile::finish() {
  stream_.close();
  if (!stream_) throw ExportError(path_.string() + ": cannot be written; is the disk full?");
  std::error_code error;
  std::filesystem::rename(partial_, path_, error);
  if (error) throw ExportError(path_.string() + ": cannot be renamed into place: " + error.message());
  finished_ = true;
}

}  // namespace ddpprof::export_
