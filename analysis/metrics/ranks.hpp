// One measurement rank by rank and step by step: what each rank did with its time, and who made the others wait.
//
// rank_findings.hpp names stragglers in it; rank_tables.hpp shows it.
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

// The parts that a step is the sum of, in the order they are stacked. `compute` is what no communication overlaps.
enum class RankPart { compute, overlapped, exposed, waiting, input, other };
inline constexpr std::size_t rank_part_count = 6;
const char* to_string(RankPart);

// One step of one rank. Times in seconds, as the database's step table defines them.
struct RankStep {
  std::int64_t rank = 0, step = 0;
  std::string kind;                       // warmup, measured or unwrapped
  std::int64_t begin_ns = 0, end_ns = 0;  // on rank 0's clock, or, where `aligned` is not, on its own
  bool aligned = true;                    // its clock's relation to rank 0's is known
  double step_s = 0, compute_s = 0, communication_s = 0, overlapped_s = 0, exposed_s = 0, skew_s = 0;
  double input_s = 0;  // data wait and host to device

  // compute + overlapped + exposed + waiting + input + other = step. Waiting for slower ranks is taken out of the
  // exposed communication first, as in predictions; input is what of it lies outside of compute and communication.
  std::array<double, rank_part_count> parts() const;
};

// One collective of a measured step, complete on all of its ranks, in which one rank alone waited least.
struct Arrival {
  std::int64_t step = 0;
  std::int64_t last = 0;      // the rank that came last: it waited least, whatever the clocks say
  double kept_waiting_s = 0;  // median wait of the others
};

struct RankTimes {
  std::int64_t measurement = 0, workers = 1, repeat = 0, repeats = 1;
  std::string strategy;
  std::map<std::int64_t, std::string> hosts;  // rank -> host; every rank that recorded a step
  std::vector<RankStep> steps;                // by step, then rank
  std::vector<Arrival> arrivals;              // by communicator and sequence
  std::vector<store::HostConditionRow> conditions;
};

// Throws store::DatabaseError; std::invalid_argument when there is no such measurement.
RankTimes read_ranks(store::Database&, std::int64_t measurement);
RankTimes read_ranks(SQLite::Database&, std::int64_t measurement);  // throws SQLite::Exception instead

// The steps whose middle, averaged over the ranks whose clock is known, lies in [begin, end) on rank 0's clock, and
// their collectives. A step of which no rank's clock is known lies in no range.
RankTimes within(const RankTimes&, std::int64_t begin_ns, std::int64_t end_ns);

// Measured steps that every rank recorded: others compare ranks that did not do the same.
using StepRows = std::map<std::int64_t, std::map<std::int64_t, const RankStep*>>;  // step -> rank -> row
StepRows complete_steps(const RankTimes&);

// Measured steps of each rank, in their order.
std::map<std::int64_t, std::vector<const RankStep*>> measured_by_rank(const RankTimes&);

}  // namespace ddpprof::metrics
