// The folder beside a database that keeps its logs, results and shards, and who is measuring into it.
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace ddpprof::cli {

// `<database>.d`
std::filesystem::path side_folder(const std::filesystem::path& database);

// Held by a run for as long as it measures, so that two never fill one folder and one database. It goes with the
// process, however that ends. On a file system that knows no locks nothing is held.
class SideFolder {
 public:
  enum class Found { nothing, ours };

  // Touches nothing. Throws Failure (usage) when the folder is not one that a run of ours made, or when another process
  // measures into it.
  explicit SideFolder(std::filesystem::path folder);
  ~SideFolder();
  SideFolder(SideFolder&&) noexcept;
  SideFolder& operator=(SideFolder&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  Found found() const { return found_; }
  void make();   // when missing, and takes the lock; throws Failure (failed)
  void clear();  // all that an earlier run left in it; throws Failure (failed)

 private:
  void lock();

  std::filesystem::path path_;
  Found found_ = Found::nothing;
  int marker_ = -1;
};

}  // namespace ddpprof::cli
