// The raw events that an importer passes on for the timeline: every event, with numbered names, in batches that another
// thread may write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/import/trace/slice.hpp"

namespace ddpprof::import {

struct RawRange {
  std::int64_t tid = 0, start_ns = 0, end_ns = 0;
  std::uint32_t name = 0, domain = 0;
  bool mark = false;
};

struct RawSlice {
  Slice slice;  // launch_ns is not set
  std::int64_t correlation = 0, grid = 0, block = 0, registers = 0, shared_bytes = 0, bytes = 0;
};

struct RawCall {
  std::int64_t tid = 0, correlation = 0, callback = 0, start_ns = 0, end_ns = 0;
  std::uint32_t name = 0;
  bool driver = false;
};

struct RawBatch {
  std::size_t source = 0;              // which rank of the import
  std::size_t first_new_name = 0;      // number of new_names[0]
  std::vector<std::string> new_names;  // names that were not in an earlier batch of the same source
  std::vector<RawRange> ranges;
  std::vector<RawSlice> slices;
  std::vector<RawCall> calls;

  std::size_t rows() const { return ranges.size() + slices.size() + calls.size(); }
};

// Receives batches when they are full.
class RawSink {
 public:
  virtual ~RawSink() = default;
  virtual void take(RawBatch&&) = 0;
};

}  // namespace ddpprof::import
