// Time windows of imported traces, used by all tables about devices.
#pragma once

#include <SQLiteCpp/Database.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ddpprof::metrics {

// A row of the database table device_time: an annotated step of one rank, or its whole trace.
struct DeviceWindow {
  std::string model, name;
  std::int64_t measurement = 0, rank = 0, shard = 0;
  bool raw_kept = false;
  bool communication_known = true;  // false: the times of collectives were not recorded
  std::int64_t start_ns = 0, span_ns = 0, compute_ns = 0, communication_ns = 0, memory_ns = 0, overlapped_ns = 0,
               busy_ns = 0, collective_kernels = 0;
};

// Returns the windows by measurement, rank and time; the whole trace of a rank comes first. Throws SQLite::Exception.
std::vector<DeviceWindow> read_device_windows(SQLite::Database&);

}  // namespace ddpprof::metrics
