// The status page as a file: the launcher creates it, a rank maps it and writes its status, the launcher reads it.
#pragma once

#include <cstdint>
#include <filesystem>

#include "runner/launcher/status_page.hpp"

namespace ddpprof::launcher {

struct Status {
  Activity activity = Activity::starting;
  std::int64_t step = -1;
  std::int64_t steps_planned = 0;
  std::int64_t updated_ns = 0;  // CLOCK_MONOTONIC, 0: the rank has not reported yet

  bool operator==(const Status&) const = default;
};

class StatusFile {
 public:
  // Creates the file with a zero-filled page and replaces an older file. Throws std::system_error with the path.
  static StatusFile create(const std::filesystem::path&);
  // Maps a file that `create` made. Throws std::system_error, also if it is smaller than a page.
  static StatusFile attach(const std::filesystem::path&);

  StatusFile(StatusFile&&) noexcept;
  StatusFile& operator=(StatusFile&&) noexcept;
  StatusFile(const StatusFile&) = delete;
  StatusFile& operator=(const StatusFile&) = delete;
  ~StatusFile();

  StatusPage& page() { return *page_; }
  // Returns the rank's last status. Before the first report: activity `starting`, step -1.
  Status read() const;
  void report(Activity, std::int64_t step, std::int64_t steps_planned);

 private:
  explicit StatusFile(StatusPage* page) : page_(page) {}
  static StatusFile map(const std::filesystem::path&, int flags);

  StatusPage* page_ = nullptr;
};

std::int64_t monotonic_ns();

}  // namespace ddpprof::launcher
