// Assigns slices to tracks on which all slices nest, as viewers require: a slice that would cross another goes to a
// further track.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/export/chrome_writer.hpp"

namespace ddpprof::export_ {

// The slices of one thread or stream, in the order of their starts; at equal starts the longer slice first.
class NestedTracks {
 public:
  // `crossing` is the number of the next further track of this process and kind; all tracks of this kind share it.
  // `facts` holds the numbers in the tracks' names as arguments.
  NestedTracks(Track first, std::string name, std::int64_t& crossing, Json facts = nullptr)
      : name_(std::move(name)), facts_(std::move(facts)), crossing_(&crossing), lanes_{{first, {}}} {}

  // Returns the track of [start_ns, end_ns): the track of the innermost open slice that contains it, otherwise the
  // first track without an open slice. Names a further track when it is first used.
  Track track_of(ChromeWriter& writer, std::int64_t start_ns, std::int64_t end_ns);
  Track first() const { return lanes_.front().track; }

 private:
  struct Slice {
    std::int64_t start_ns = 0, end_ns = 0;
  };
  struct Lane {
    Track track;
    std::vector<Slice> open;  // each is inside the one before
  };
  std::string name_;
  Json facts_;
  std::int64_t* crossing_;
  std::vector<Lane> lanes_;
};

}  // namespace ddpprof::export_
