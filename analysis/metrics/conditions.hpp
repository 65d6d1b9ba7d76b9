// Conditions of the machine during a measurement, and conditions that disturb it.
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

// Limits above which a condition counts as a disturbance: shares of the time of all processors, relative change of the
// frequency, share of the window.
inline constexpr double others_share_most = 0.05, steal_share_most = 0.02, frequency_change_most = 0.05,
                        quota_share_most = 0.01;

struct Disturbance {
  std::string code;     // stable: busy_machine, steal_time, frequency_moved, too_hot, quota_throttled, paging
  std::string message;  // complete sentences
  std::string advice;
  std::int64_t count = 1;  // number of measurements that have it
};

// Returns each kind of disturbance of a configuration's measurements once, with its worst value, in the order above.
std::vector<Disturbance> disturbances(const Configuration&, const Conditions&);

// Returns a finding if the frequencies of two configurations differ too much to compare them. At most one per file.
std::optional<Disturbance> frequencies_apart(const std::vector<Configuration>&, const Conditions&);

// Returns a finding if recorded or imported ranks on CPUs have other numbers of threads at another N. At most one per
// file. A scenario chooses its threads itself.
std::optional<Disturbance> threads_apart(const std::vector<Configuration>&);

}  // namespace ddpprof::metrics
