// Curves of all-reduces as logs of nccl-tests give them: runs of one placement are joined, and the errors that the log
// itself shows become standard deviations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/collective/curve.hpp"

namespace ddpprof::fit {

// Bytes of the job's all-reduces. 0: unknown.
struct MessageSizes {
  double smallest = 0.0, largest = 0.0;
};

// The factor on a curve's latency, if every message of the job is smaller than the smallest size of the curve.
struct SmallLatency {
  double sd = 0.0;    // of the factor's logarithm; 0: the curve has sizes of the job
  double most = 0.0;  // of the factor, its logarithm
};

struct GivenCurves {
  std::vector<collective::Curve> curves;  // one for each number of ranks and hosts
  // Standard deviations of the logarithm of times, if runs with equal ranks and hosts differ: the largest among curves
  // of one host, and among curves across hosts.
  double runs_inside = 0.0, runs_across = 0.0;
  SmallLatency small;  // the largest of all curves
  std::vector<std::string> notes, warnings;
};

// Runs of equal ranks and hosts become one curve: the geometric mean of the times at each size. Adds a warning if they
// differ by more than repeats do, and if the job's messages are far smaller than the sizes of a curve. A curve whose
// hosts are unknown is of one host if its ranks fit on one, with a note; otherwise it stays as it is, with a warning.
GivenCurves join_curves(const std::vector<collective::Curve>& given, const MessageSizes& job, std::int64_t host_ranks);

// Returns "8 ranks on one host", "16 ranks on 2 hosts", or "8 ranks" if the number of hosts is unknown.
std::string placement_text(const collective::Curve&);

}  // namespace ddpprof::fit
