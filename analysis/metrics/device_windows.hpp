// The windows of time of imported traces, as every table about devices has them. Internal to the report library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/tables/source.hpp"

namespace ddpprof::report {

// A row of the table device_time: an annotated step of one rank, or all of its trace.
struct DeviceWindow {
  std::string model, name;
  std::int64_t measurement = 0, rank = 0, shard = 0;
  bool raw_kept = false;
  std::int64_t start_ns = 0, span_ns = 0, compute_ns = 0, communication_ns = 0, memory_ns = 0, overlapped_ns = 0,
               busy_ns = 0, collective_kernels = 0;
};

// By measurement, rank, and time, the whole trace of a rank first. Throws SQLite::Exception.
std::vector<DeviceWindow> read_device_windows(const Source&);

// Model, measurement, rank, window, span; the rest of a table's columns follow.
std::vector<Column> window_columns();
inline constexpr int window_key_columns = 4;
inline constexpr std::size_t window_name_column = 3;
Row window_cells(const DeviceWindow&);  // all but the span

inline constexpr const char* no_device_events =
    "No imported trace with device events in this file. Make one with: ddpprof import TRACE --out FILE.db";

inline double in_seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

}  // namespace ddpprof::report
