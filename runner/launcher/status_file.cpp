#include "runner/launcher/status_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <system_error>
#include <utility>

namespace ddpprof::launcher {
namespace {

[[noreturn]] void fail(int error, const std::filesystem::path& path) {
  throw std::system_error(error, std::generic_category(), "status file " + path.string());
}

}  // namespace

std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

StatusFile StatusFile::map(const std::filesystem::path& path, int flags) {
  const int fd = open(path.c_str(), flags | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) fail(errno, path);
  const auto fail_closed = [&](int error) {
    close(fd);
    fail(error, path);
  };
  if ((flags & O_CREAT) != 0) {
    // Allocate the blocks now. On a full disk a store to the mapping would otherwise kill the rank with SIGBUS.
    if (const int error = posix_fallocate(fd, 0, status_page_bytes)) fail_closed(error);
  }
  struct stat info {};
  if (fstat(fd, &info) != 0) fail_closed(errno);
  if (info.st_size < status_page_bytes) fail_closed(EINVAL);
  void* address = mmap(nullptr, status_page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED) fail_closed(errno);
  close(fd);
  return StatusFile(static_cast<StatusPage*>(address));
}

StatusFile StatusFile::create(const std::filesystem::path& path) {
  // Create a new inode, so that a rank of an older run that still maps the old file cannot write into this one.
  if (unlink(path.c_str()) != 0 && errno != ENOENT) fail(errno, path);
  return map(path, O_CREAT | O_EXCL);
}

StatusFile StatusFile::attach(const std::filesystem::path& path) { return map(path, 0); }

StatusFile::StatusFile(StatusFile&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}

StatusFile& StatusFile::operator=(StatusFile&& other) noexcept {
  std::swap(page_, other.page_);
  return *this;
}

StatusFile::~StatusFile() {
  if (page_ != nullptr) munmap(page_, status_page_bytes);
}

Status StatusFile::read() const {
  Status status;
  status.updated_ns = page_->updated_ns.load(std::memory_order_relaxed);
  if (status.updated_ns == 0) return status;
  status.activity = static_cast<Activity>(page_->activity.load(std::memory_order_relaxed));
  status.step = page_->step.load(std::memory_order_relaxed);
  status.steps_planned = page_->steps_planned.load(std::memory_order_relaxed);
  return status;
}

void StatusFile::report(Activity activity, std::int64_t step, std::int64_t steps_planned) {
  page_->activity.store(static_cast<std::int32_t>(activity), std::memory_order_relaxed);
  page_->step.store(step, std::memory_order_relaxed);
  page_->steps_planned.store(steps_planned, std::memory_order_relaxed);
  page_->updated_ns.store(monotonic_ns(), std::memory_order_relaxed);
}

}  // namespace ddpprof::launcher
