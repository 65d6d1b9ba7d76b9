// The recording bounds that the user set for a process, and what was recorded.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/import/trace/rank_trace.hpp"
#include "analysis/import/trace/training.hpp"
#include "tracer/store/shard/shard_reader.hpp"

namespace ddpprof::import {

// The recording windows, and the steps that the tracer followed, by thread and start.
class RecordedBounds final : public store::ShardVisitor {
 public:
  void on_chunk(std::int64_t os_tid) override { tid_ = os_tid; }
  void on_window_begin(const trace::RecordHeader& header) override { begins_.push_back(header.time_ns); }
  void on_window_end(const trace::RecordHeader& header) override { ends_.push_back(header.time_ns); }
  void on_step(const trace::StepRecord& record) override { steps_[{tid_, record.header.time_ns}] = record.number; }
  void finish();  // call after the pass

  // Ordered. A window without an end lasts to INT64_MAX.
  const std::vector<Span>& windows() const { return windows_; }
  bool kept(std::int64_t time_ns) const;
  std::optional<std::int64_t> step_number(std::int64_t tid, std::int64_t start_ns) const;

 private:
  std::int64_t tid_ = 0;
  std::vector<std::int64_t> begins_, ends_;
  std::vector<Span> windows_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> steps_;
};

// Returns a note about the events that the bounds left out. `until_ns` is the time of the last event.
Note note_of_bounds(const store::BoundsInfo&, const std::vector<Span>& windows, std::int64_t until_ns);

// Returns the reason why nothing was kept of a process: the bounds that were set, and the events that occurred.
std::string why_nothing_was_kept(const store::BoundsInfo&);

}  // namespace ddpprof::import
