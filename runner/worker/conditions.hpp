// What this rank and its host were like while it measured, as the result file carries it.
#pragma once

#include <nlohmann/json.hpp>

#include "runner/host/conditions.hpp"

namespace ddpprof::worker {

// Frames the measured steps: made a few steps before the first, since making it disturbs them; asked after the last.
class ConditionWatch {
 public:
  // `for_host`: this rank speaks for its host (the first one on it); the others record only themselves.
  explicit ConditionWatch(bool for_host);

  // {window_ns, cpu_ns, voluntary_switches, involuntary_switches, major_faults} of this process over the window, and
  // with `for_host` under "host" what each look found: {cpus, spent_ns: {user, system, interrupt, idle, steal},
  // frequency_hz, load, thermal_throttles, quota_throttled_ns}, pairs as [begin, end]; what is not readable is left
  // out.
  nlohmann::json end() const;

 private:
  bool for_host_;
  host::Snapshot begin_;
  host::Usage usage_;
  std::int64_t begin_ns_;
};

}  // namespace ddpprof::worker
