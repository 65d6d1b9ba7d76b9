// What the machine was like while it measured, and what of it spoils a measurement.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/metrics/measured.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::metrics {

// By measurement, hosts in the order of their names. Throws SQLite::Exception.
using Conditions = std::map<std::int64_t, std::vector<store::HostConditionRow>>;
Conditions read_conditions(SQLite::Database&);

// Above these a condition is named. Of the machine, of the frequency, of the window.
inline constexpr double others_share_most = 0.05, steal_share_most = 0.02, frequency_change_most = 0.05,
                        quota_share_most = 0.01;

struct Disturbance {
  std::string code;     // stable: busy_machine, steal_time, frequency_moved, too_hot, quota_throttled, paging
  std::string message;  // whole sentences
  std::string advice;
  std::int64_t count = 1;  // measurements it was found in
};

// What disturbed a configuration's measurements, each kind once with its worst value, in the order above.
std::vector<Disturbance> disturbances(const Configuration&, const Conditions&);

// Configurations that ran at frequencies too far apart to compare: one finding about the whole file, or none.
std::optional<Disturbance> frequencies_apart(const std::vector<Configuration>&, const Conditions&);

}  // namespace ddpprof::metrics
