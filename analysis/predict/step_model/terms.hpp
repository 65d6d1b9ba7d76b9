// The terms of a step. Measured and predicted terms have the same meaning.
#pragma once

#include <algorithm>

namespace ddpprof::fit {

// The parts of one step: step = compute + exposed + skew + host + other. For dp, communication and exposed are the
// copies.
struct Terms {
  double compute_s = 0.0;  // on a GPU: kernels run
  double exposed_s = 0.0;  // communication that no compute hides; for ddp with the broadcast of buffers
  double skew_s = 0.0;     // waiting for slower ranks
  double host_s = 0.0;     // the device waits for the host's launches; 0 on a CPU
  double other_s = 0.0;    // input, and time outside of every phase; for dp also buffers
  double communication_s = 0.0;
  double latency_s = 0.0;    // part of communication_s
  double bandwidth_s = 0.0;  // part of communication_s
  double input_s = 0.0;      // part of other_s
  double host_gap_s = 0.0;   // part of host_s: outside of forward, backward and optimizer

  double step_s() const { return compute_s + exposed_s + skew_s + host_s + other_s; }
  double host_inside_s() const { return std::max(0.0, host_s - host_gap_s); }
};

// The model's exposed time is what follows the backward, and its host time is all time between the kernels of a phase.
// In measured steps, communication between kernels is exposed. Returns terms with that meaning. Communication beside
// the backward is assumed to meet kernels and the time between them in proportion.
inline Terms as_measured(Terms terms) {
  const double inside_s = terms.host_inside_s();
  if (!(inside_s > 0.0)) return terms;
  const double share = inside_s / (terms.compute_s + inside_s);
  const double moved_s = std::min(inside_s, share * std::max(0.0, terms.communication_s - terms.exposed_s));
  terms.exposed_s += moved_s;
  terms.host_s -= moved_s;
  return terms;
}

}  // namespace ddpprof::fit
