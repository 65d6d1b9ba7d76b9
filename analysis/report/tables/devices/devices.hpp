// Tables about the devices of imported traces.
#pragma once

#include <string>

#include "analysis/metrics/device_windows.hpp"
#include "analysis/report/tables/source.hpp"

namespace ddpprof::report {

Table device_time_table(const Source&);
Table kernels_table(const Source&);
Table hta_table(const Source&);          // overlap_rules.cpp
Table tensorboard_table(const Source&);  // overlap_rules.cpp

// Model, measurement, rank, window, span: the leading columns of tables about devices.
std::vector<Column> window_columns();
inline constexpr int window_key_columns = 4;
inline constexpr std::size_t window_name_column = 3;
Row window_cells(const metrics::DeviceWindow&);  // cells of these columns without the span

inline constexpr const char* no_device_events =
    "This file has no imported trace with device events. Import one with: ddpprof import TRACE --out FILE.db";

}  // namespace ddpprof::report
