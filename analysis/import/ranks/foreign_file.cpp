#include "analysis/import/ranks/foreign_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "analysis/import/ranks/error.hpp"

namespace ddpprof::ranks {
namespace {

namespace fs = std::filesystem;

const char* kind_of(mode_t mode) {
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "not a plain file";
}

[[noreturn]] void refuse(const fs::path& path, const char* found, const char* expected) {
  throw InvalidRecords(fmt::format("{} is {}", path.string(), found),
                       fmt::format("{} that ddpprof worker wrote", expected),
                       "copy the folder's own files, or remove it");
}

[[noreturn]] void unreadable(const fs::path& path, int error) {
  throw InvalidRecords(fmt::format("{} cannot be read: {}", path.string(), std::strerror(error)));
}

// Returns false if the path does not exist. Follows no link.
bool look(const fs::path& path, struct stat& status) {
  if (lstat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  unreadable(path, errno);
}

struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

}  // namespace

std::optional<std::string> read_foreign_file(const fs::path& path, std::uint64_t most_bytes) {
  struct stat status {};
  if (!look(path, status)) return std::nullopt;
  if (!S_ISREG(status.st_mode)) refuse(path, kind_of(status.st_mode), "a plain file");
  // Checked again after opening: the file may have been replaced in between. O_NONBLOCK: opening a pipe does not wait.
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  if (file.number < 0 || fstat(file.number, &status) != 0) unreadable(path, errno);
  if (!S_ISREG(status.st_mode)) refuse(path, kind_of(status.st_mode), "a plain file");
  const auto too_large = [&](std::uint64_t bytes) {
    throw InvalidRecords(fmt::format("{} has {} bytes", path.string(), bytes),
                         fmt::format("at most {}, far more than ddpprof worker writes", most_bytes),
                         "start that rank again");
  };
  if (static_cast<std::uint64_t>(status.st_size) > most_bytes) too_large(static_cast<std::uint64_t>(status.st_size));
  std::string text;
  char part[1 << 16];
  while (true) {
    const ssize_t count = read(file.number, part, sizeof part);
    if (count == 0) return text;
    if (count < 0 && errno != EINTR) unreadable(path, errno);
    if (count > 0) text.append(part, static_cast<std::size_t>(count));
    if (text.size() > most_bytes) too_large(text.size());  // the file grew while it was read
  }
}

void check_foreign_file(const fs::path& path) {
  struct stat status {};
  if (!look(path, status)) unreadable(path, ENOENT);
  if (!S_ISREG(status.st_mode)) refuse(path, kind_of(status.st_mode), "a plain file");
}

bool check_foreign_folder(const fs::path& path) {
  struct stat status {};
  if (!look(path, status)) return false;
  if (!S_ISDIR(status.st_mode))
    refuse(path, S_ISREG(status.st_mode) ? "a plain file" : kind_of(status.st_mode), "a folder");
  return true;
}

}  // namespace ddpprof::ranks
