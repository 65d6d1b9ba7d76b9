#include "analysis/import/trace/sharding/unit_segments.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

namespace ddpprof::import {
namespace {

using Marks = std::span<const ShardingMark>;

// A forward or a backward of the whole model.
struct WholePass {
  Span time;
  bool backward = false;
  std::int64_t micro_batch = 0;
};

Marks marks_in(const std::vector<ShardingMark>& marks, const Span& time) {
  const auto at = [&](std::int64_t t) {
    return std::lower_bound(marks.begin(), marks.end(), t,
                            [](const ShardingMark& mark, std::int64_t value) { return mark.time.start_ns < value; });
  };
  const auto first = at(time.start_ns);
  return {first, std::max(first, at(time.end_ns))};
}

std::vector<WholePass> whole_passes(Marks marks, const HostStep& step) {
  std::vector<WholePass> passes;
  std::int64_t micro_batch = 0;
  const auto begin = [&](bool backward, std::int64_t start_ns, std::int64_t end_ns) {
    if (!passes.empty()) passes.back().time.end_ns = std::min(passes.back().time.end_ns, start_ns);
    passes.push_back({{start_ns, std::max(start_ns, end_ns)}, backward, micro_batch});
  };
  for (const ShardingMark& mark : marks) {
    const bool in_backward = !passes.empty() && passes.back().backward;
    const bool next_forward =
        mark.action == ShardingAction::root_pre_forward && in_backward && !backward_around(step, mark.time.start_ns);
    if (next_forward) ++micro_batch;
    if (passes.empty() || next_forward) {
      begin(false, mark.time.start_ns, mark.time.end_ns);
    } else if (mark.action == ShardingAction::pre_backward && !in_backward) {
      // The loss's backward runs before the first unit's.
      const Span around =
          backward_around(step, mark.time.start_ns).value_or(Span{mark.time.start_ns, mark.time.start_ns});
      passes.back().time.end_ns = std::max(passes.back().time.end_ns, around.start_ns);
      begin(true, around.start_ns, std::max(mark.time.end_ns, around.end_ns));
    }
    passes.back().time.end_ns = std::max(passes.back().time.end_ns, mark.time.end_ns);
  }
  return passes;
}

struct Frame {
  Span time;
  std::uint32_t unit = 0;
  bool copy = false;
};

// Returns the frames of one pass: the whole pass, each unit's work and each annotation, outer frames first.
std::vector<Frame> frames_of(Marks marks, const WholePass& pass) {
  std::vector<Frame> frames{{pass.time, 0, false}};
  std::map<std::pair<std::uint32_t, ShardingAction>, std::vector<std::size_t>> open;  // by unit and its last action
  for (const ShardingMark& mark : marks) {
    if (mark.time.start_ns < pass.time.start_ns || mark.time.start_ns >= pass.time.end_ns) continue;
    const auto begin = [&] {
      open[{mark.unit, mark.action}].push_back(frames.size());
      frames.push_back({{mark.time.end_ns, pass.time.end_ns}, mark.unit, false});
    };
    const auto end = [&](ShardingAction begun_by) {
      std::vector<std::size_t>& begun = open[{mark.unit, begun_by}];
      if (begun.empty()) return;
      frames[begun.back()].time.end_ns = std::max(frames[begun.back()].time.start_ns, mark.time.start_ns);
      begun.pop_back();
    };
    if (mark.action == ShardingAction::post_forward) end(ShardingAction::pre_forward);
    if (mark.action == ShardingAction::post_backward || (mark.nameless && mark.action == ShardingAction::reduce))
      end(ShardingAction::pre_backward);
    if (mark.action == ShardingAction::pre_forward || mark.action == ShardingAction::pre_backward) begin();
    frames.push_back({mark.time, mark.unit, true});
  }
  std::stable_sort(frames.begin(), frames.end(), [](const Frame& a, const Frame& b) {
    return a.time.start_ns != b.time.start_ns ? a.time.start_ns < b.time.start_ns : a.time.end_ns > b.time.end_ns;
  });
  return frames;
}

// Gives each moment to the innermost frame around it.
void divide(const std::vector<Frame>& frames, const WholePass& pass, std::int64_t step,
            std::vector<UnitSegment>& segments) {
  std::vector<const Frame*> around;
  std::int64_t now_ns = pass.time.start_ns;
  const auto advance = [&](std::int64_t to_ns) {
    to_ns = std::min(to_ns, pass.time.end_ns);
    if (to_ns <= now_ns) return;
    if (!around.empty())
      segments.push_back(
          {{now_ns, to_ns}, step, around.back()->unit, pass.backward, pass.micro_batch, around.back()->copy});
    now_ns = to_ns;
  };
  const auto leave_until = [&](std::int64_t until_ns) {
    while (!around.empty() && around.back()->time.end_ns <= until_ns) {
      advance(around.back()->time.end_ns);
      around.pop_back();
    }
  };
  for (const Frame& frame : frames) {
    leave_until(frame.time.start_ns);
    advance(frame.time.start_ns);
    around.push_back(&frame);
  }
  leave_until(pass.time.end_ns);
}

}  // namespace

std::optional<Span> backward_around(const HostStep& step, std::int64_t time_ns) {
  for (const Pass& pass : step.passes)
    if (pass.backward.start_ns <= time_ns && time_ns < pass.backward.end_ns) return pass.backward;
  return std::nullopt;
}

std::vector<UnitSegment> unit_segments(const std::vector<ShardingMark>& marks,
                                       const std::vector<const HostStep*>& steps) {
  std::vector<UnitSegment> segments;
  for (const HostStep* step : steps) {
    const Marks of_step = marks_in(marks, step->time);
    for (const WholePass& pass : whole_passes(of_step, *step))
      divide(frames_of(of_step, pass), pass, step->number, segments);
  }
  return segments;
}

}  // namespace ddpprof::import
