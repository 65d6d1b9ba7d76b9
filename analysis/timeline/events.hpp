// From events as they are read to rows: kept in chunks meanwhile, put in order, and given lanes where they overlap.
#pragma once

#include <memory>
#include <vector>

#include "analysis/timeline/tracks.hpp"

namespace ddpprof::timeline {

// Grows without copying, and leaves at most one chunk unused: the load's memory stays near 24 bytes an event.
class EventChunks {
 public:
  void add(const Event& event) {
    if (used_ == capacity_) grow();
    chunks_.back()[used_++] = event;
    ++size_;
  }
  std::size_t size() const { return size_; }
  // In the order of add().
  template <class Visit>
  void each(Visit visit) const {
    std::size_t left = size_, capacity = smallest;
    for (const auto& chunk : chunks_) {
      const std::size_t here = left < capacity ? left : capacity;
      for (std::size_t i = 0; i < here; ++i) visit(chunk[i]);
      left -= here;
      if (capacity < largest) capacity *= 2;
    }
  }

 private:
  static constexpr std::size_t smallest = 64, largest = 32768;
  void grow();
  std::vector<std::unique_ptr<Event[]>> chunks_;
  std::size_t used_ = 0, capacity_ = 0, size_ = 0;
};

// The parts one after the other, in order of start (longer first where they start together). One row where nothing
// overlaps; else each event goes to the first row that is free, so that what nests lies below what it is in.
// The parts are emptied.
std::vector<Row> make_rows(std::vector<EventChunks> parts);
// The same for one thread's calls: each event also lies below every event that holds it, even where an event that was
// only partly overlapped has left a higher row free.
std::vector<Row> make_nested_rows(std::vector<EventChunks> parts);

}  // namespace ddpprof::timeline
