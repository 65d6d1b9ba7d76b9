// Many draws of one DDP step at once, as an interval needs them: the rules of ddp_step.hpp, computed for several draws
// at a time.
//
// Buckets, ranks and algorithm are the same for every draw; the times differ. A bucket's all-reduce takes `hops` hops
// of `hop_bytes` each, with the cost of a ring or of Gloo's segmented ring in simulator/collective. The results equal
// those of step::simulate except for the last digits. Compute is not slowed by communication here.
#pragma once

#include <cstddef>
#include <vector>

namespace ddpprof::step {

struct DrawnBucket {
  double ready_s = 0.0;  // at pace 1
  double hops = 0.0;
  double hop_bytes = 0.0;
  double copied_bytes = 0.0;  // back into the gradients
};

// Each vector has one value per draw.
struct DrawnTimes {
  std::vector<double> pace;        // of this draw's ready times
  std::vector<double> forward_s;   // everything before the last backward
  std::vector<double> backward_s;  // without communication
  std::vector<double> straggler_s;
  std::vector<double> hop_s, hop_s_per_byte, reduction_s_per_byte;  // alpha, beta, gamma
  std::vector<double> turn_s;                                       // a hop's wait while this rank computes
  std::vector<double> copy_s_per_byte;
};

struct DrawnLink {
  int lanes = 1;           // collectives in flight at once, sharing the link: 1 or 2
  bool segmented = false;  // Gloo's ring, with two segments in flight, else the textbook's
};

// Times from the start of backward, as in DdpResult. Each vector has one value per draw.
struct DrawnResults {
  std::vector<double> even_backward_s;  // without a straggler
  std::vector<double> even_copy_s;      // exposed_copy_s without a straggler
  std::vector<double> even_finish_s;
  std::vector<double> late_finish_s;    // with the straggler
  std::vector<double> communication_s;  // without a straggler
  std::vector<double> latency_s;        // … of all collectives alone on the link
  std::vector<double> alone_s;          // latency, bandwidth and reduction of them
};

// Throws std::invalid_argument if a vector does not have one value per draw, if a value is negative or not finite, or
// if lanes is neither 1 nor 2.
DrawnResults simulate_draws(const std::vector<DrawnBucket>& buckets, const DrawnLink&, const DrawnTimes&);

}  // namespace ddpprof::step
