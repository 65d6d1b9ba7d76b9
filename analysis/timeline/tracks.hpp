// A measurement's events in columns, by rank, track and row, all on rank 0's clock. Read-only after loading.
//
// A row is one line of the display: its events are ordered by time and do not overlap, so a range of time is a range of
// indices. A track is a group of rows (nesting depths, or lanes of events that are in flight together).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/ingest/intervals.hpp"
#include "analysis/timeline/levels.hpp"
#include "analysis/timeline/names.hpp"
#include "tracer/store/clock.hpp"

namespace ddpprof::timeline {

inline constexpr std::uint32_t no_argument = 0xffffffff;

struct Event {
  std::int64_t start_ns = 0, duration_ns = 0;  // duration 0: an instant
  std::uint32_t name = 0;
  // Refers to further data: for steps an index into Timeline::steps, for collectives and launches into ::collectives,
  // for copies into ::bytes, for gradients the parameter's number, for raw events the row's id in its table.
  std::uint32_t argument = no_argument;
  std::int64_t end_ns() const { return start_ns + duration_ns; }
  bool operator==(const Event&) const = default;
};

struct Row {
  std::uint32_t track = 0;
  std::vector<std::int64_t> start_ns, duration_ns;
  std::vector<std::uint32_t> name, argument;
  std::vector<Level> levels;

  std::size_t size() const { return start_ns.size(); }
  std::int64_t end_ns(std::size_t i) const { return start_ns[i] + duration_ns[i]; }
  Event at(std::size_t i) const { return {start_ns[i], duration_ns[i], name[i], argument[i]}; }
  std::size_t first_touching(std::int64_t time_ns) const;  // ends after the time, or starts at it or later
  std::size_t first_from(std::int64_t time_ns) const;      // starts at the time or later
};

enum class TrackKind : std::uint8_t {
  steps,        // steps, and their phases below
  gradients,    // instants
  launches,     // instants
  collectives,  // lanes
  unit,         // of a sharded training: compute and copies, and the collectives that carry its data
  replica,
  loader,
  stream,      // raw from here on
  nvtx,        // ranges by depth
  nvtx_lanes,  // start/end ranges of one thread, which may overlap
  cuda_calls,
};
constexpr bool is_raw(TrackKind kind) { return kind >= TrackKind::stream; }

struct Track {
  TrackKind kind = TrackKind::steps;
  std::uint32_t rank = 0;  // index into Timeline::ranks
  std::string name;
  std::uint32_t first_row = 0, rows = 0;
};

struct Step {
  std::uint32_t rank = 0;
  std::int64_t step = 0, samples = 0, start_ns = 0, duration_ns = 0;
  std::string kind;
  std::int64_t compute_ns = 0, communication_ns = 0, overlapped_ns = 0, exposed_ns = 0, skew_ns = 0;
  std::optional<double> loss, learning_rate;
};

struct Collective {
  std::uint32_t rank = 0, group = 0;  // group: index into Timeline::groups
  std::int64_t communicator = 0, sequence = 0, bucket = -1, bytes = 0, launch_ns = 0;
  std::optional<std::int64_t> ready_ns, start_ns, end_ns, transfer_ns, skew_ns;
  std::uint32_t row = 0, event = 0;  // where it is drawn
  bool finished() const { return start_ns && end_ns; }
};

// One collective over its ranks, or over a single rank if that rank's clock is unknown.
struct Group {
  // indices into Timeline::collectives, by start; members that never started come last
  std::vector<std::uint32_t> members;
  std::int64_t first_ns = 0, last_ns = 0;  // from the first start (or launch) to the last end
};

// When a rank computes, communicates and waits for slower ranks. Known inside the intervals of `known`.
struct RankTime {
  ingest::IntervalSet known, compute, communication, skew;
};

struct Rank {
  std::int64_t shard = 0, rank = 0, pid = 0;
  std::string host, clock;  // clock: a warning about it; "": none
  bool clock_known = true;  // false: its times cannot be compared with other ranks' times
  bool raw_kept = false;
  store::ClockAlignment alignment;
  std::uint32_t first_track = 0, tracks = 0;
  RankTime time;
  std::string title() const;
};

struct Parameter {
  std::int64_t number = 0, bytes = 0;
};

struct Timeline {
  std::int64_t measurement = 0;
  std::string title;                      // "ddp N=4"
  std::int64_t begin_ns = 0, end_ns = 0;  // of all events
  bool complete = false;                  // all kept raw events are included
  bool raw_kept = false;                  // by any rank
  Names names;
  std::vector<Rank> ranks;
  std::vector<Track> tracks;
  std::vector<Row> rows;
  std::vector<Step> steps;  // by rank, then start
  std::vector<Collective> collectives;
  std::vector<Group> groups;  // by first_ns
  std::vector<std::int64_t> bytes;
  std::vector<Parameter> parameters;  // by number
  std::int64_t longest_group_ns = 0;

  std::int64_t events() const;
  std::int64_t memory_bytes() const;  // of rows and levels
  bool empty() const { return rows.empty(); }
};

// Identifies one event of a timeline.
struct EventRef {
  std::uint32_t row = 0, event = 0;
  bool operator==(const EventRef&) const = default;
};

}  // namespace ddpprof::timeline
