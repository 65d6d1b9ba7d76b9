// The folder beside a database that keeps its logs, results and shards, and who is at work on both.
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace ddpprof::measure {

// `<database>.d`
std::filesystem::path side_folder(const std::filesystem::path& database);

// Held by a run for as long as it measures, so that two never fill one folder and one database, and by whatever makes,
// replaces or removes a database: it is taken before the database is touched. It goes with the process, however that
// ends. On a file system that knows no locks nothing is held.
class SideFolder {
 public:
  // Touches nothing. Throws Failure (usage) when the folder is not one that a run of ours made, or when another process
  // holds it.
  explicit SideFolder(std::filesystem::path folder);
  ~SideFolder();
  SideFolder(SideFolder&&) noexcept;
  SideFolder& operator=(SideFolder&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  bool empty() const;  // there is no folder, or nothing of a run in it

  void make();   // when missing, and takes the lock; throws Failure (failed; usage when another process has it)
  void clear();  // all that an earlier run left in it; throws Failure (failed)

  // What becomes of it when this ends. Without either, what make() made is undone: the database was refused.
  void keep() { end_ = End::kept; }
  void remove_at_end() { end_ = End::removed; }  // with all that is in it

 private:
  enum class End { as_found, kept, removed };
  bool lock();

  std::filesystem::path path_;
  End end_ = End::as_found;
  bool made_folder_ = false, made_marker_ = false;
  int marker_ = -1;
};

}  // namespace ddpprof::measure
