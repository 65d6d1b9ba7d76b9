// Intercepts Ctrl-C and SIGTERM, so that a run can end its ranks and keep its measurements.
#pragma once

namespace ddpprof::measure {

// While an object exists, SIGINT and SIGTERM only set a flag. Its destructor restores the earlier handlers. At most one
// object may exist.
class InterruptionGuard {
 public:
  InterruptionGuard();
  ~InterruptionGuard();
  InterruptionGuard(const InterruptionGuard&) = delete;
  InterruptionGuard& operator=(const InterruptionGuard&) = delete;

  static bool interrupted();
};

}  // namespace ddpprof::measure
