#include "runner/measure/side_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "runner/measure/error.hpp"

namespace ddpprof::measure {
namespace {

namespace fs = std::filesystem;

constexpr const char* marker_name = "made-by-ddpprof";

[[noreturn]] void cannot(const char* what, const fs::path& path, const std::string& why) {
  throw CannotWrite(std::string("cannot ") + what + " " + path.string() + ": " + why, "",
                    "check whether the disk is full or the folder is read-only");
}

// Removes everything but the marker. On an error, returns the path that could not be removed or read.
fs::path empty_folder(const fs::path& folder, std::error_code& error) {
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename() == marker_name) continue;
    const fs::path path = entry->path();
    fs::remove_all(path, error);
    if (error) return path;
  }
  return folder;
}

}  // namespace

fs::path side_folder(const fs::path& database) {
  fs::path folder = database;
  folder += ".d";
  return folder;
}

SideFolder::SideFolder(fs::path folder) : path_(std::move(folder)) {
  std::error_code error;
  const auto marked = [&] { return fs::exists(path_ / marker_name, error); };
  if (marked()) {
    lock();
    return;
  }
  // An empty folder is what a run leaves that was killed while it made the folder. The folder may appear or disappear
  // between any two of these checks.
  const fs::file_type type = fs::status(path_, error).type();
  const bool foreign = type == fs::file_type::directory ? !empty() : type != fs::file_type::not_found;
  if (foreign && !marked())
    throw InvalidRequest(path_.string() + " was not made by ddpprof and is left alone",
                         "a folder with the file " + std::string(marker_name),
                         "move it, or give another file with --out");
}

SideFolder::SideFolder(SideFolder&& other) noexcept
    : path_(std::move(other.path_)),
      end_(other.end_),
      made_folder_(other.made_folder_),
      made_marker_(other.made_marker_),
      marker_(std::exchange(other.marker_, -1)) {}

SideFolder::~SideFolder() {
  if (marker_ < 0) return;
  std::error_code ignored;
  const bool removed = end_ == End::removed, undone = end_ == End::as_found;
  if (removed) empty_folder(path_, ignored);
  // The marker is removed last, and the folder only if it is empty: without the marker another process may take both.
  if (removed || (undone && made_marker_)) fs::remove(path_ / marker_name, ignored);
  if (removed || (undone && made_folder_)) fs::remove(path_, ignored);
  close(marker_);
}

bool SideFolder::empty() const {
  std::error_code error;
  for (fs::directory_iterator entry(path_, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().filename() != marker_name) return false;
  return true;
}

void SideFolder::make() {
  constexpr int most_attempts = 100;  // an attempt fails if another process removes the folder meanwhile
  for (int attempt = 0; marker_ < 0; ++attempt) {
    std::error_code error;
    made_folder_ = fs::create_directories(path_, error);
    if ((!error && lock()) || attempt < most_attempts) continue;
    cannot("make the folder", path_, error ? error.message() : "another process removes it repeatedly");
  }
}

void SideFolder::clear() {
  std::error_code error;
  const fs::path failed = empty_folder(path_, error);
  if (error) cannot("remove", failed, error.message());
}

// Returns false if the process that held the lock has removed the marker meanwhile.
//
// A record lock (fcntl) instead of flock: child processes do not inherit it, and the kernel reports its holder. Closing
// any descriptor of the marker would release it, so no other code of this program opens the file.
bool SideFolder::lock() {
  const fs::path marker = path_ / marker_name;
  marker_ = open(marker.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  made_marker_ = marker_ >= 0;
  if (marker_ < 0 && errno == EEXIST) marker_ = open(marker.c_str(), O_RDWR | O_CLOEXEC);
  if (marker_ < 0 && errno == ENOENT) return false;
  if (marker_ < 0) cannot("open", marker, std::strerror(errno));
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (fcntl(marker_, F_SETLK, &whole) == 0 || (errno != EACCES && errno != EAGAIN)) {
    struct stat held {
    }, there{};
    if (fstat(marker_, &held) == 0 && stat(marker.c_str(), &there) == 0 && held.st_dev == there.st_dev &&
        held.st_ino == there.st_ino)
      return true;
    close(std::exchange(marker_, -1));
    return false;
  }
  struct flock holder = whole;
  const bool known = fcntl(marker_, F_GETLK, &holder) == 0 && holder.l_type != F_UNLCK && holder.l_pid > 0;
  close(std::exchange(marker_, -1));
  throw InvalidRequest(
      "another run or import uses " + path_.string() + (known ? " (process " + std::to_string(holder.l_pid) + ")" : ""),
      "one run or import at a time", "wait for it to end, or give another file with --out");
}

}  // namespace ddpprof::measure
