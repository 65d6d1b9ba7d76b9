// A timeline in the making: tracks by rank, not yet numbered.
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
  Timeline timeline;                            // all but tracks and rows
  std::vector<std::vector<TrackDraft>> tracks;  // by rank, in the order of the picture
};

// Steps, phases, gradients, collectives, and when each rank computes and communicates.
// Throws std::invalid_argument when there is no such measurement.
Draft read_summaries(SQLite::Database&, std::int64_t measurement);

// Numbers tracks and rows, finds where each collective is drawn, and the first and last time of all.
Timeline assembled(Draft);

// When `rank` computes, communicates and waits, from its steps and their phases as ingestion does it; only on a CPU,
// where the host's times are those of the work. `local` times are the shard's own.
RankTime read_rank_time(SQLite::Database&, const Rank& rank);

}  // namespace ddpprof::timeline
