// Converts events to rows: collects them in chunks, sorts them, and assigns lanes to events that overlap.
#pragma once

#include <memory>
#include <vector>

#include "analysis/timeline/tracks.hpp"

namespace ddpprof::timeline {

// Grows without copying and leaves at most one chunk unused, so loading needs about 24 bytes per event.
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

// Joins the parts in order of start (at equal starts the longer event first). One row if no events overlap. Otherwise
// each event goes to the first free row, so a nested event lies below the event that contains it. The parts are
// emptied.
std::vector<Row> make_rows(std::vector<EventChunks> parts);
// The same for one thread's calls. Each event also lies below every event that contains it, even if a partly
// overlapping event has left a higher row free.
std::vector<Row> make_nested_rows(std::vector<EventChunks> parts);

}  // namespace ddpprof::timeline
