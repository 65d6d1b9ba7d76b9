// All-reduces hop by hop: when each rank has its result if ranks arrive at different times and links differ.
//
// `times_s` has one element per rank. On entry it is the time at which the rank arrives with its data, on return the
// time at which it has the result and is free for the next collective. A hop starts when the sender has the data and
// both ends have finished the hop before it. Equal arrivals and links are not assumed; with them the result equals the
// closed forms of simulator/collective/all_reduce.hpp, which these hops check. Throws std::invalid_argument for a value
// out of range.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/collective/all_reduce.hpp"

namespace ddpprof::hops {

// 2(N-1) rounds; in each every rank sends one chunk to its right neighbour. `links[r]` leads from rank r to rank r + 1,
// the last one back to rank 0. Chunks are message bytes over N. N² of them are passed twice.
class Ring {
 public:
  Ring(std::span<const collective::Link> links);
  void all_reduce(double chunk_bytes, std::span<double> times_s);
  void reduce_scatter(double chunk_bytes, std::span<double> times_s);
  void all_gather(double chunk_bytes, std::span<double> times_s);

 private:
  void rounds(double chunk_bytes, double reduced, std::span<double> times_s);

  std::vector<collective::Link> links_;
  std::vector<double> hop_s_, occupied_s_, free_s_;  // by receiver
  std::vector<double> other_s_;                      // the other half of a round's times
};

}  // namespace ddpprof::hops
