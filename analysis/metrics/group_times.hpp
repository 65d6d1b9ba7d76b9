// Communication of each process group, and its exposed part: the rank does not compute meanwhile. From the collectives,
// kernels and operations of imported traces.
//
// On devices, compute is the union of all kernels that belong to no collective. On hosts, compute is that of the steps'
// own exposed communication (ingest/busy.hpp): the phases without waiting. PyTorch does not record waiting: all threads
// wait for a collective from the end of the last operation that began before the collective ended. Stages of a pipeline,
// and steps without phases, have these waits alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace SQLite {
class Database;
}

namespace ddpprof::metrics {

// Sums over measured steps. Simultaneous collectives count once.
struct Communicated {
  std::int64_t communication_ns = 0, exposed_ns = 0;
};

// The measured steps of one rank.
struct RankCommunication {
  std::int64_t measurement = 0, rank = 0, steps = 0;
  std::map<std::int64_t, Communicated> groups;                              // by communicator
  std::map<std::pair<std::int64_t, std::string>, Communicated> operations;  // by communicator and operation
  Communicated stages;                                                      // sends and receives of all groups
};

// Returns the ranks of imported measurements whose raw events are in the file, by measurement and rank. Throws
// SQLite::Exception.
std::vector<RankCommunication> rank_communication(SQLite::Database&);

}  // namespace ddpprof::metrics
