// How the pace of the host's launches and the work of the device together make the time of a phase.
//
// The host launches kernels, and the device runs them later. While kernels wait in the queue, the device sets the pace;
// while the queue is empty, the host does. With B, the time of the kernels, and L, the time of the launches, a phase
// takes
//
//   T = (B^p + L^p)^(1/p),   p >= 1.
//
// p = 1: the host waits for the device at each launch, so that the times add up. p -> infinity: the host runs freely,
// and the queue hides the shorter of the two, T = max(B, L). Real phases are nearer to the second case, but they have
// some points at which the host waits (a loss that is read, allocations, copies). A measured phase gives B and T, and
// so L at each p. Launches that the device hides completely are not visible: L is then 0.
#pragma once

namespace ddpprof::step {

inline constexpr double usual_host_power = 3.5;

struct HostPace {
  double idle_share = 0.0;          // of the measured phase, in which the device runs no kernel: 1 - B/T, below 1
  double power = usual_host_power;  // p

  // All times are relative to the measured phase. `device`: the changed time of the kernels over the measured one.
  // `host`: the changed time of the launches over the measured one; 0: launches take no time.
  // Returns the changed time of the phase. Exactly `device` without idle time, and exactly 1 without a change.
  double phase(double device, double host) const;
  // Returns the changed time of the kernels.
  double busy(double device) const { return (1.0 - idle_share) * device; }
  // Returns the `device` for which phase(device, 1) is `changed`; 0 if launches alone take longer.
  double device_for(double changed) const;

 private:
  double launches() const;  // L over the measured phase
};

}  // namespace ddpprof::step
