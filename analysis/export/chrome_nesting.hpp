// Tracks on which every slice nests, as viewers expect: what would cross a slice goes to a further track.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/export/chrome_writer.hpp"

namespace ddpprof::export_ {

// One thread's or stream's slices, in the order of their starts, longer first where they start together.
class NestedTracks {
 public:
  // `crossing`: the number of the next further track of this process and kind; shared by all tracks of that kind.
  // `facts`: what the tracks' names say in numbers, for an import.
  NestedTracks(Track first, std::string name, std::int64_t& crossing, Json facts = nullptr)
      : name_(std::move(name)), facts_(std::move(facts)), crossing_(&crossing), lanes_{{first, {}}} {}

  // Where [start_ns, end_ns) goes: into the innermost slice that holds it, else to the first track on which nothing is
  // open. Names a further track when it is first used.
  Track track_of(ChromeWriter& writer, std::int64_t start_ns, std::int64_t end_ns);
  Track first() const { return lanes_.front().track; }

 private:
  struct Slice {
    std::int64_t start_ns = 0, end_ns = 0;
  };
  struct Lane {
    Track track;
    std::vector<Slice> open;  // each within the one before
  };
  std::string name_;
  Json facts_;
  std::int64_t* crossing_;
  std::vector<Lane> lanes_;
};

}  // namespace ddpprof::export_
