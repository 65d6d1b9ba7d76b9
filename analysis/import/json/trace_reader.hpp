// Reads a trace file's events one by one from any source of bytes, in bounded memory; what is damaged is told, not
// lost.
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
  // Views are valid during the call. `offset` counts bytes of the text, unpacked.
  virtual void event(const Event&, std::uint64_t offset) = 0;
  // A member beside the events, e.g. "distributedInfo": its value's JSON.
  virtual void member(std::string_view key, std::string_view json, std::uint64_t offset) = 0;
  // Something that is no event.
  virtual void damage(std::uint64_t offset, std::string_view what) = 0;
};

struct TraceTally {
  std::uint64_t text_bytes = 0;
  std::int64_t events = 0;        // sound ones
  std::int64_t damaged = 0;       // told to damage()
  bool saw_events = false;        // an array of events, empty or not
  bool complete = false;          // the text ended where it should
  std::int64_t long_members = 0;  // members too long to describe a job, passed over
};

// Fills `into` as far as it can; 0: the end. Its exceptions pass through.
using ReadBytes = std::function<std::size_t(std::span<char> into)>;

TraceTally read_trace(const ReadBytes&, TraceVisitor&);

}  // namespace ddpprof::import
