// Collects one rank's raw events into batches and passes these on.
#pragma once

#include "analysis/import/trace/rank_trace.hpp"
#include "analysis/import/trace/raw_events.hpp"

namespace ddpprof::import {

class RawCollector {
 public:
  static constexpr std::size_t batch_rows = 16384;

  // If `sink` is null, events are dropped.
  RawCollector(const Names& names, RawSink* sink, std::size_t source) : names_(names), sink_(sink), source_(source) {}

  void range(const RawRange& range) {
    if (!sink_) return;
    batch_.ranges.push_back(range);
    flush_when_full();
  }
  void slice(const RawSlice& slice) {
    if (!sink_) return;
    batch_.slices.push_back(slice);
    flush_when_full();
  }
  void call(const RawCall& call) {
    if (!sink_) return;
    batch_.calls.push_back(call);
    flush_when_full();
  }
  void flush();

 private:
  void flush_when_full() {
    if (batch_.rows() >= batch_rows) flush();
  }

  const Names& names_;
  RawSink* sink_;
  std::size_t source_, names_sent_ = 0;
  RawBatch batch_;
};

}  // namespace ddpprof::import
