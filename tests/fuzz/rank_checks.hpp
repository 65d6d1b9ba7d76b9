// Checks for every rank that an importer reads, and receivers that check each raw event.
#pragma once

#include <cstddef>
#include <map>
#include <utility>

#include "analysis/import/trace/raw_events.hpp"
#include "analysis/import/trace/training.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace ddpprof::fuzz {

// Checks one rank.
class RawCount : public import::RawSink {
 public:
  void take(import::RawBatch&& batch) override {
    require(batch.first_new_name == names_, "names come without a gap");
    names_ += batch.new_names.size();
    for (const import::RawRange& range : batch.ranges) {
      require(range.name < names_ && range.domain < names_, "a range's name was given before it");
      require(range.end_ns >= range.start_ns, "a range does not end before it starts");
    }
    for (const import::RawSlice& slice : batch.slices)
      require(slice.slice.end_ns >= slice.slice.start_ns, "a slice does not end before it starts");
    for (const import::RawCall& call : batch.calls) {
      require(call.name < names_, "a call's name was given before it");
      require(call.end_ns >= call.start_ns, "a call does not end before it starts");
    }
  }

 private:
  std::size_t names_ = 0;
};

// Checks any number of ranks.
class AnyRaw : public import::RawSink {
 public:
  void take(import::RawBatch&& batch) override {
    const std::size_t source = batch.source;
    ranks_[source].take(std::move(batch));
  }

 private:
  std::map<std::size_t, RawCount> ranks_;
};

// Completes the rank's training.
inline void conclude(import::RankTrace& rank) {
  const import::Training training = import::derive_training(rank, {});
  for (const ingest::StepFact& step : training.shard.steps)
    require(step.time.end_ns >= step.time.start_ns, "a step does not end before it starts");
  for (const import::Note& note : training.notes)
    require(!note.code.empty() && !note.message.empty() && note.count > 0, "a note says what it is and how often");
}

}  // namespace ddpprof::fuzz
