#pragma once

namespace ddpprof::fit {

// The parts of one step: step = compute + exposed + skew + other. For dp, communication and exposed are the copies.
struct Terms {
  double compute_s = 0.0;
  double exposed_s = 0.0;  // communication that no compute hides; for ddp with the broadcast of buffers
  double skew_s = 0.0;     // waiting for slower ranks
  double other_s = 0.0;    // input, and time outside of every phase; for dp also buffers
  double communication_s = 0.0;
  double latency_s = 0.0;    // part of communication_s
  double bandwidth_s = 0.0;  // part of communication_s
  double input_s = 0.0;      // part of other_s

  double step_s() const { return compute_s + exposed_s + skew_s + other_s; }
};

}  // namespace ddpprof::fit
