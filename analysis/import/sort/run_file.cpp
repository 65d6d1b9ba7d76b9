#include "analysis/import/sort/run_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace ddpprof::import {
namespace {

constexpr std::size_t largest_call_bytes = std::size_t{1} << 30;

int open_nameless(const std::filesystem::path& folder) {
#ifdef O_TMPFILE
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
  if (descriptor >= 0) return descriptor;
#endif
  // Some file systems do not support nameless files; there, a named file is created and unlinked at once.
  std::string name = (folder / "ddpprof-sort-XXXXXX").string();
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

RunFile::RunFile(const std::filesystem::path& folder) : folder_(folder.string()), descriptor_(open_nameless(folder)) {
  if (descriptor_ < 0) fail("cannot be made", errno);
}

RunFile::~RunFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void RunFile::fail(const std::string& what, int reason) const {
  throw TemporaryFileError(folder_ + ": a temporary file for sorting " + what + ": " + std::strerror(reason) +
                           "; free space there or set TMPDIR to another writable folder");
}

void RunFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(descriptor_, bytes.data(), std::min(bytes.size(), largest_call_bytes), static_cast<off_t>(bytes_));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      fail("cannot be written beyond " + std::to_string(bytes_) + " bytes", written < 0 ? errno : ENOSPC);
    bytes_ += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void RunFile::read(std::uint64_t offset_bytes, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t got =
        ::pread(descriptor_, into.data(), std::min(into.size(), largest_call_bytes), static_cast<off_t>(offset_bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("cannot be read at byte " + std::to_string(offset_bytes), got < 0 ? errno : EIO);
    offset_bytes += static_cast<std::uint64_t>(got);
    into = into.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace ddpprof::import
