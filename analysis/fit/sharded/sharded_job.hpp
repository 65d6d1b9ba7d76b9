// The measurements of one sharded training (FSDP) at several numbers of ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/fit/sharded/sharded_units.hpp"

namespace ddpprof::fit {

// All measurements of one N.
struct ShardedRanks {
  std::int64_t workers = 1, nodes = 1;
  std::vector<std::int64_t> measurements;  // ids
  // One per measured step: mean over the ranks.
  std::vector<double> steps_s, optimizer_s, exposed_s, skew_s;
  std::vector<UnitTimes> units;
  double unit_bytes = 0.0, other_bytes = 0.0;  // of all collectives: of units, and of no unit
};

struct ShardedJob {
  std::string model, device;
  std::string optimizer;  // its class: "Adam"; empty: not recorded
  std::int64_t batch_per_worker = 0, accumulation = 1, threads_per_rank = 1;
  std::int64_t cores = 1;              // of a host
  std::vector<ShardedRanks> measured;  // by N
};

// A collective of a unit at a measured N, without waiting for slower ranks: the median over the steps.
struct UnitCollectiveTime {
  std::int64_t workers = 0;
  double bytes = 0.0, seconds = 0.0;
};

// Returns the job of the first measurement that has sharded units; other jobs of the database are left out. `measured`
// is empty if the database has none. Throws SQLite::Exception.
ShardedJob sharded_job(SQLite::Database&);

// Returns the job's all-gathers or reduce-scatters ("all_gather", "reduce_scatter") at N ≥ 2.
std::vector<UnitCollectiveTime> unit_collectives(SQLite::Database&, const ShardedJob&, const char* action);

}  // namespace ddpprof::fit
