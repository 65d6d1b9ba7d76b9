// Records the state of this rank and its host during the measured steps, for the result file.
#pragma once

#include <nlohmann/json.hpp>

#include "runner/host/conditions.hpp"

namespace ddpprof::worker {

// Construct it a few steps before the first measured step, since the constructor delays the next steps. Call end()
// after the last measured step.
class ConditionWatch {
 public:
  // `for_host`: also records the host. Set it on the first rank of each host.
  explicit ConditionWatch(bool for_host);

  // {window_ns, cpu_ns, voluntary_switches, involuntary_switches, major_faults} of this process over the window. With
  // `for_host` also "host": {cpus, spent_ns: {user, system, interrupt, idle, steal}, frequency_hz, load,
  // thermal_throttles, quota_throttled_ns}; pairs are [begin, end]. Values that cannot be read are left out.
  nlohmann::json end() const;

 private:
  bool for_host_;
  host::Snapshot begin_;
  host::Usage usage_;
  std::int64_t begin_ns_;
};

}  // namespace ddpprof::worker
