// Reads a trace file's events one by one from any source of bytes, in bounded memory. Reports damaged parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "analysis/import/json/event.hpp"

namespace ddpprof::import {

class TraceVisitor {
 public:
  virtual ~TraceVisitor() = default;
  // Views are valid during the call. `offset` counts bytes of the decompressed text.
  virtual void event(const Event&, std::uint64_t offset) = 0;
  // A member besides the events, for example "distributedInfo", with the JSON of its value.
  virtual void member(std::string_view key, std::string_view json, std::uint64_t offset) = 0;
  // Text that is not an event.
  virtual void damage(std::uint64_t offset, std::string_view what) = 0;
};

struct TraceTally {
  std::uint64_t text_bytes = 0;
  std::int64_t events = 0;        // sound events
  std::int64_t damaged = 0;       // calls of damage()
  bool saw_events = false;        // an array of events was found, also an empty one
  bool complete = false;          // the text ends at its expected end
  std::int64_t long_members = 0;  // skipped members, too long to describe a job
};

// Fills `into` as far as possible and returns the number of bytes; 0: end. Its exceptions are passed on.
using ReadBytes = std::function<std::size_t(std::span<char> into)>;

TraceTally read_trace(const ReadBytes&, TraceVisitor&);

}  // namespace ddpprof::import
