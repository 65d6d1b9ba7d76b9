// The measurements of one sharded training (FSDP) at several numbers of ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/fit/sharded/sharded_units.hpp"

namespace ddpprof::fit {

// A collective of a unit at a measured N, without waiting for slower ranks: the median over the steps.
struct UnitCollectiveTime {
  std::int64_t workers = 0;  // of the group
  double bytes = 0.0, seconds = 0.0;
};

// All measurements of one N on one number of hosts.
struct ShardedRanks {
  std::int64_t workers = 1, nodes = 1;
  std::int64_t shards = 1;    // ranks among which units are sharded; fewer than workers if shards have replicas (HSDP)
  std::int64_t threads = 1;   // of a rank
  bool shares_cores = false;  // ranks of a CPU had fewer cores than threads
  std::vector<std::int64_t> measurements;  // ids
  // One per measured step: mean over the ranks. skew_s is the part of exposed_s that waits for slower ranks.
  std::vector<double> steps_s, compute_s, optimizer_s, exposed_s, skew_s;
  std::vector<UnitTimes> units;
  double unit_bytes = 0.0, other_bytes = 0.0;  // of all collectives: of units, and of no unit
  // Of a measurement that is planned and not made: its expected collectives, by action. `measurements` is then empty.
  std::map<std::string, std::vector<UnitCollectiveTime>, std::less<>> planned{};

  std::int64_t per_host() const { return (workers - 1) / nodes + 1; }
  std::int64_t replicas() const { return workers / shards; }
};

struct ShardedJob {
  std::string model, device, backend;
  std::string optimizer;  // its class: "Adam"; empty: not recorded
  std::int64_t batch_per_worker = 0, accumulation = 1, threads_per_rank = 1;
  std::int64_t cores = 1;                        // of a host
  std::vector<ShardedRanks> measured;            // by N, then by hosts
  std::map<std::int64_t, std::string> left_out;  // measurements with sharded units that are not used: the reason by id

  // True if ranks with these threads compute as the job's ranks do.
  bool has_threads(std::int64_t threads) const { return device != "cpu" || threads == threads_per_rank; }
};

// Returns the job of the first predictable measurement (strategy fsdp) of several ranks, else of one. Measurements of
// other jobs, with other units, and of other strategies are left out. A measurement that differs in the threads of a
// rank alone, as N = 1 does by torchrun's default, stays if its N has no other one. `measured` is empty if the database
// has no predictable measurement. Throws SQLite::Exception.
ShardedJob sharded_job(SQLite::Database&);

// Returns the all-gathers, the reduce-scatters or the all-reduces over replicas ("all_gather", "reduce_scatter",
// "all_reduce") in groups of two or more of these ranks.
std::vector<UnitCollectiveTime> unit_collectives(SQLite::Database&, std::span<const ShardedRanks* const>,
                                                 const char* action);

}  // namespace ddpprof::fit
