#include "analysis/export/output_file.hpp"

#include <cerrno>
#include <cstring>

namespace ddpprof::export_ {

OutputFile::OutputFile(const std::filesystem::path& path) : file_(path) {
  errno = 0;
  stream_.open(file_.path(), std::ios::binary | std::ios::trunc);
  if (!stream_) throw ExportError(file_.target() + ": cannot be created: " + std::strerror(errno != 0 ? errno : EIO));
}

void OutputFile::write(std::string_view text) {
  stream_.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!stream_) throw ExportError(file_.target() + ": cannot be written; is the disk full?");
}

void OutputFile::finish() {
  stream_.close();
  if (!stream_) throw ExportError(file_.target() + ": cannot be written; is the disk full?");
  file_.finish();
}

}  // namespace ddpprof::export_
