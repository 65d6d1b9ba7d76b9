// The folder beside a database, with its logs, results and shards. Its lock protects the folder and the database.
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace ddpprof::measure {

// `<database>.d`
std::filesystem::path side_folder(const std::filesystem::path& database);

// A run holds the lock while it measures, so that two runs never write into one folder and one database. Code that
// makes, replaces or removes a database takes the lock before it touches the database. The lock ends with the process.
// A file system without locks is used without.
class SideFolder {
 public:
  // Changes nothing on the disk. Throws InvalidRequest if ddpprof did not make the folder, or another process holds it.
  explicit SideFolder(std::filesystem::path folder);
  ~SideFolder();
  SideFolder(SideFolder&&) noexcept;
  SideFolder& operator=(SideFolder&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  bool empty() const;  // true: the folder is missing, or has no files of a run

  void make();   // makes the folder if missing, takes the lock; throws CannotWrite, or InvalidRequest if another has it
  void clear();  // removes the files of an earlier run; throws CannotWrite

  // Select what the destructor does. Without a call of either it undoes make(), because the database was rejected.
  void keep() { end_ = End::kept; }
  void remove_at_end() { end_ = End::removed; }  // with all its files

 private:
  enum class End { as_found, kept, removed };
  bool lock();

  std::filesystem::path path_;
  End end_ = End::as_found;
  bool made_folder_ = false, made_marker_ = false;
  int marker_ = -1;
};

}  // namespace ddpprof::measure
