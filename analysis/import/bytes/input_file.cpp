#include "analysis/import/bytes/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "analysis/import/bytes/byte_source.hpp"

namespace ddpprof::import {
namespace {

constexpr std::size_t largest_read_bytes = std::size_t{1} << 30;  // the kernel's own limit is just below 2 GiB

}  // namespace

InputFile::InputFile(const std::filesystem::path& path) : name_(path.string()) {
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0)
    throw OpenError(name_ + ": cannot be opened: " + std::strerror(errno) + "; give the path of a readable trace file");
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) {
    const int reason = errno;
    ::close(descriptor_);
    throw OpenError(name_ + ": cannot be examined: " + std::strerror(reason));
  }
  if (S_ISDIR(status.st_mode)) {
    ::close(descriptor_);
    throw OpenError(name_ + ": is a folder, not a trace file; give one of the files in it");
  }
  if (S_ISREG(status.st_mode)) bytes_ = static_cast<std::uint64_t>(status.st_size);
  try {
    buffer_ = std::make_unique_for_overwrite<std::byte[]>(buffer_bytes);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
#ifdef POSIX_FADV_SEQUENTIAL
  ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);  // only a hint: a pipe rejects it
#endif
}

InputFile::~InputFile() { ::close(descriptor_); }

std::size_t InputFile::read_some(std::byte* into, std::size_t bytes) {
  if (ended_) return 0;
  ssize_t got = 0;
  do {
    got = ::read(descriptor_, into, std::min(bytes, largest_read_bytes));
  } while (got < 0 && errno == EINTR);
  if (got > 0) return static_cast<std::size_t>(got);
  if (got < 0)
    error_ = name_ + ": cannot be read beyond byte " + std::to_string(position_ + (end_ - begin_)) + ": " +
             std::strerror(errno) + "; copy the file to another disk and try again";
  ended_ = true;
  return 0;
}

std::span<const std::byte> InputFile::look(std::size_t wanted) {
  wanted = std::min(wanted, buffer_bytes);
  if (end_ - begin_ < wanted && !ended_) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    while (end_ < wanted) {
      const std::size_t got = read_some(buffer_.get() + end_, buffer_bytes - end_);
      if (got == 0) break;
      end_ += got;
    }
  }
  return {buffer_.get() + begin_, end_ - begin_};
}

void InputFile::skip(std::size_t bytes) {
  begin_ += bytes;
  position_ += bytes;
}

std::size_t InputFile::read(std::span<std::byte> into) {
  std::size_t done = std::min(into.size(), end_ - begin_);
  std::copy_n(buffer_.get() + begin_, done, into.data());
  skip(done);
  while (done < into.size()) {
    const std::size_t got = read_some(into.data() + done, into.size() - done);
    if (got == 0) break;
    done += got;
    position_ += got;
  }
  return done;
}

}  // namespace ddpprof::import
