// One training step as lanes of segments: the activities of a thread, a link or a replica over time. Measured and
// simulated steps have the same form, so that they can be drawn side by side.
//
// The first lane is the step's own thread. Its segments follow each other without a gap from 0 to step_s, so that the
// sums of the kinds add up to the step. The other lanes show activities beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpprof::step {

enum class SegmentKind {
  data,          // waiting for input, host to device
  forward,       // compute …
  backward,      // …
  optimizer,     // …
  own_copy,      // … copies inside one device: reduced gradients back to their parameters
  overlapped,    // a collective beside compute
  exposed,       // a collective that no compute hides
  skew,          // waiting for slower ranks
  copies,        // DataParallel's between devices
  other,         // gaps
  not_modelled,  // the part of a step that the simulation does not explain
  gradient,      // a moment: a gradient, or a bucket's last one, is ready
  launch,        // a moment: a collective is handed to the backend
};
std::string_view to_string(SegmentKind);
bool is_compute(SegmentKind);
bool is_moment(SegmentKind);  // begin_s == end_s

struct Segment {
  std::string name;
  SegmentKind kind = SegmentKind::other;
  double begin_s = 0.0, end_s = 0.0;  // since the step's start
  std::optional<std::int64_t> bytes;

  double duration_s() const { return end_s - begin_s; }
};

struct Lane {
  std::string name;
  std::vector<Segment> segments;  // by begin
};

struct StepLanes {
  std::string strategy;  // ddp or dp
  std::int64_t workers = 1;
  bool simulated = false;
  std::int64_t rank = 0, step = 0;  // of a measured one
  double step_s = 0.0;
  std::vector<Lane> lanes;
  // Simulated steps: parts of the first lane's segments that are not drawn on their own.
  double host_in_compute_s = 0.0;     // the device waits for the host's launches between the kernels of a phase
  double exposed_in_compute_s = 0.0;  // communication at the same time as such a wait
  double host_in_other_s = 0.0;       // the device waits for the host's launches outside of every phase
  std::string note;                   // a remark for the reader, or empty
};

// Returns the total duration of one kind on the first lane.
double total_s(const StepLanes&, SegmentKind);

}  // namespace ddpprof::step
