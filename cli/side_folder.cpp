#include "cli/side_folder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "cli/subcommand.hpp"

namespace ddpprof::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* marker_name = "made-by-ddpprof";

[[noreturn]] void cannot(const char* what, const fs::path& path, const std::string& why) {
  throw Failure(ExitCode::failed, std::string("cannot ") + what + " " + path.string() + ": " + why, "",
                "is the disk full, or the folder read-only?");
}

}  // namespace

fs::path side_folder(const fs::path& database) {
  fs::path folder = database;
  folder += ".d";
  return folder;
}

SideFolder::SideFolder(fs::path folder) : path_(std::move(folder)) {
  std::error_code error;
  if (!fs::exists(path_, error)) return;
  if (fs::exists(path_ / marker_name, error)) {
    found_ = Found::ours;
    lock();
  } else if (!fs::is_directory(path_, error) || !fs::is_empty(path_, error)) {  // empty: a run killed while making it
    throw Failure(ExitCode::usage, path_.string() + " was not made by ddpprof and is left alone",
                  "a folder with the file " + std::string(marker_name), "move it, or give another file with --out");
  }
}

SideFolder::SideFolder(SideFolder&& other) noexcept
    : path_(std::move(other.path_)), found_(other.found_), marker_(std::exchange(other.marker_, -1)) {}

SideFolder::~SideFolder() {
  if (marker_ >= 0) close(marker_);
}

void SideFolder::make() {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) cannot("make the folder", path_, error.message());
  if (marker_ < 0) lock();
}

void SideFolder::clear() {
  std::error_code error;
  for (fs::directory_iterator entry(path_, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename() == marker_name) continue;
    fs::remove_all(entry->path(), error);
    if (error) cannot("remove", entry->path(), error.message());
  }
  if (error) cannot("empty the folder", path_, error.message());
}

// A record lock (fcntl) and not flock: a child that outlives this process for a moment does not inherit it, and who
// holds it can be asked. Closing any descriptor of the marker would give it up: nobody else here opens that file.
void SideFolder::lock() {
  const fs::path marker = path_ / marker_name;
  marker_ = open(marker.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (marker_ < 0) cannot("open", marker, std::strerror(errno));
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (fcntl(marker_, F_SETLK, &whole) == 0 || (errno != EACCES && errno != EAGAIN)) return;
  struct flock holder = whole;
  const bool known = fcntl(marker_, F_GETLK, &holder) == 0 && holder.l_type != F_UNLCK && holder.l_pid > 0;
  close(marker_);
  marker_ = -1;
  throw Failure(ExitCode::usage,
                "another run is measuring into " + path_.string() +
                    (known ? " (process " + std::to_string(holder.l_pid) + ")" : ""),
                "one run at a time", "wait for it to end, or give another file with --out");
}

}  // namespace ddpprof::cli
