// The records of one step on one rank. Internal to analysis/metrics.
#pragma once

#include <SQLiteCpp/Database.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ddpprof::metrics {

struct Span {
  std::int64_t begin_ns = 0, end_ns = 0;  // relative to the start of the step
};

inline Span clip(Span span, Span window) {
  return {std::max(span.begin_ns, window.begin_ns), std::min(span.end_ns, window.end_ns)};
}

struct Phase {
  std::string name;
  std::int64_t lane = 0;
  Span time;
  std::optional<std::int64_t> bytes;
};

struct Gradient {
  std::string name;
  std::int64_t ready_ns = 0;
  std::optional<std::int64_t> bytes;
};

struct Collective {
  std::string op;
  std::string unit;  // of a sharded training (FSDP) whose parameters or gradients it carries; empty: none
  std::int64_t bucket = -1, bytes = 0, launch_ns = 0, skew_ns = 0;
  std::optional<Span> time;  // empty if it did not end
};

// Compute or copies of one unit of a sharded training (FSDP) in one pass, from its first begin to its last end.
struct UnitPass {
  std::string unit;
  bool root = false, backward = false, copies = false;
  Span time;
};

struct Recorded {
  std::int64_t id = 0, shard = 0, start_ns = 0, duration_ns = 0;
  std::string kind, strategy, device;
  std::int64_t workers = 1;
  std::vector<Phase> phases;
  std::vector<Gradient> gradients;
  std::vector<Collective> collectives;                // by start
  std::vector<UnitPass> units;                        // by start; empty: not sharded, or not recorded
  std::map<std::int64_t, std::vector<Span>> kernels;  // compute kernels by device, in order of start

  Span time() const { return {0, duration_ns}; }
};

// Returns the smallest rank that recorded this step. Throws std::invalid_argument if there is none.
std::int64_t first_rank(SQLite::Database&, std::int64_t measurement, std::int64_t number);

// Throws std::invalid_argument when that rank recorded no such step.
Recorded read_recorded(SQLite::Database&, std::int64_t measurement, std::int64_t rank, std::int64_t number);

}  // namespace ddpprof::metrics
