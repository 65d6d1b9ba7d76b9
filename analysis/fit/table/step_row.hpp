// One measured step time of a table, and the prediction of one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/fit/table/learned.hpp"

namespace ddpprof::fit {

struct StepRow {
  std::int64_t workers = 1;
  std::int64_t nodes = 1;
  std::int64_t batch_per_worker = 1;
  double step_s = 0.0;
  std::int64_t devices_per_node = 0;  // on the fullest node; 0: workers over nodes, rounded up
  double sync_s = -1.0;               // part of the step: waiting for gradients and slower ranks; below 0: unknown
  std::int64_t accumulation = 1;      // micro-batches of batch_per_worker samples in a step
  std::string strategy = "ddp";       // ddp, fsdp, hsdp, zero1, zero2 or zero3

  std::int64_t devices() const { return devices_per_node > 0 ? devices_per_node : (workers + nodes - 1) / nodes; }
  double micro_s() const { return step_s / static_cast<double>(accumulation); }
};

// Rows of different strategies are tables of their own: how one of them grows says nothing about another.
std::map<std::string, std::vector<StepRow>> by_strategy(const std::vector<StepRow>& rows);

struct TableOptions {
  double confidence = 0.9;
  int draws = 400;
  std::uint64_t seed = 1;
  TableConstants constants = learned_constants;
};

// The bound of a table that does not separate communication from input, storage and power, which ranks share, too.
inline constexpr const char* shared_bound = "communication or another shared resource";

// The source that notes of predictions from a table give.
inline constexpr const char* step_times_source = "from step times alone";

struct TablePrediction {
  double step_s = 0.0;
  double low_s = 0.0, high_s = 0.0;  // range of one further measurement
  double alone_s = 0.0;              // step of one rank, or of the fewest measured ranks
  double compute_s = 0.0;            // one rank alone
  double skew_s = 0.0;               // the slowest of N beside one
  double sharing_s = 0.0;            // devices that share a node
  double communication_s = 0.0;      // without overlap; only its exposed part if the table does not show more
  double exposed_s = 0.0;            // communication that the backward does not hide; without `sync_s` all that is lost
  std::string bound;                 // the largest of compute, skew, sharing, exposed communication (or shared_bound)
  std::string note;

  void add_note(const std::string& text) { note += (note.empty() ? "" : "; ") + text; }
  void name_bound();
};

}  // namespace ddpprof::fit
