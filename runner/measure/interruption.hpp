// Notices Ctrl-C and SIGTERM, so that a run can end its ranks and keep what it measured.
#pragma once

namespace ddpprof::measure {

// While it lives, SIGINT and SIGTERM are only noted; afterwards they do what they did before. One at a time.
class InterruptionGuard {
 public:
  InterruptionGuard();
  ~InterruptionGuard();
  InterruptionGuard(const InterruptionGuard&) = delete;
  InterruptionGuard& operator=(const InterruptionGuard&) = delete;

  static bool interrupted();
};

}  // namespace ddpprof::measure
