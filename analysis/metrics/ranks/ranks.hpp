// One measurement by rank and step: the parts of each rank's time, and which rank the others waited for.
//
// rank_findings.hpp finds stragglers; analysis/report/tables/ranks has the tables.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tracer/store/rows/run_rows.hpp"

namespace SQLite {
class Database;
}
namespace ddpprof::store {
class Database;
}

namespace ddpprof::metrics {

// Parts whose sum is the step, in the order in which they are stacked. `compute` excludes overlapped communication.
enum class RankPart { compute, overlapped, exposed, waiting, host, input, other };
inline constexpr std::size_t rank_part_count = 7;
const char* to_string(RankPart);

// One step of one rank. Times in seconds, as the database's step table defines them.
struct RankStep {
  std::int64_t rank = 0, step = 0;
  std::string kind;                       // warmup, measured or unwrapped
  std::int64_t begin_ns = 0, end_ns = 0;  // on rank 0's clock; on its own clock unless `aligned`
  bool aligned = true;                    // the clock's offset to rank 0's clock is known
  double step_s = 0, compute_s = 0, communication_s = 0, overlapped_s = 0, exposed_s = 0, skew_s = 0;
  double exposed_wait_s = 0;  // of exposed_s: waiting for slower ranks (fit::exposed_waits)
  double input_s = 0;         // data wait and host to device
  double host_s = 0;          // the device waits for the host's launches; 0 on a CPU

  // compute + overlapped + exposed + waiting + host + input + other = step. Exposed waiting for slower ranks is
  // subtracted from exposed communication, as in predictions. Input is only its part outside compute and communication.
  std::array<double, rank_part_count> parts() const;
};

// One collective of a measured step that all its ranks recorded and in which exactly one rank waited least.
struct Arrival {
  std::int64_t step = 0;
  std::int64_t last = 0;      // the rank that arrived last, which is the rank that waited least (no clock is used)
  double kept_waiting_s = 0;  // median wait of the others
};

struct RankTimes {
  std::int64_t measurement = 0, workers = 1, repeat = 0, repeats = 1;
  std::string strategy;
  bool communication_known = true;            // false: the times of collectives were not recorded
  std::map<std::int64_t, std::string> hosts;  // rank -> host; every rank that recorded a step
  std::vector<RankStep> steps;                // by step, then rank
  std::vector<Arrival> arrivals;              // by communicator and sequence
  // False if only one of several ranks was recorded: its waits for the others are part of exposed communication.
  bool waits_known = true;
  std::vector<store::HostConditionRow> conditions;
};

// Throws store::DatabaseError, or std::invalid_argument if the measurement does not exist.
RankTimes read_ranks(store::Database&, std::int64_t measurement);
RankTimes read_ranks(SQLite::Database&, std::int64_t measurement);  // throws SQLite::Exception instead

// Returns the steps whose middle lies in [begin, end) on rank 0's clock, with their collectives. The middle is averaged
// over the ranks with a known clock; steps without such a rank are left out.
RankTimes within(const RankTimes&, std::int64_t begin_ns, std::int64_t end_ns);

// Returns the measured steps that every rank recorded; in other steps ranks are not comparable.
using StepRows = std::map<std::int64_t, std::map<std::int64_t, const RankStep*>>;  // step -> rank -> row
StepRows complete_steps(const RankTimes&);

// Returns the measured steps of each rank in order.
std::map<std::int64_t, std::vector<const RankStep*>> measured_by_rank(const RankTimes&);

}  // namespace ddpprof::metrics
