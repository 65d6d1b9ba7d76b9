// A timeline under construction: tracks by rank, not yet numbered.
#pragma once

#include <string>
#include <vector>

#include "analysis/timeline/tracks.hpp"

namespace SQLite {
class Database;
}

namespace ddpprof::timeline {

struct TrackDraft {
  TrackKind kind = TrackKind::steps;
  std::string name;
  std::vector<Row> rows;
};

struct Draft {
  Timeline timeline;                            // without tracks and rows
  std::vector<std::vector<TrackDraft>> tracks;  // by rank, in display order
};

// Reads steps, phases, gradients, collectives, and when each rank computes and communicates. Throws
// std::invalid_argument if the measurement is missing.
Draft read_summaries(SQLite::Database&, std::int64_t measurement);

// Numbers tracks and rows, finds where each collective is drawn, and the first and last time.
Timeline assembled(Draft);

// Returns when `rank` computes, communicates and waits, from its steps and their phases in the same way as ingestion.
// Only for a CPU, where the host's times are those of the work. `local` times are on the shard's own clock.
RankTime read_rank_time(SQLite::Database&, const Rank& rank);

}  // namespace ddpprof::timeline
