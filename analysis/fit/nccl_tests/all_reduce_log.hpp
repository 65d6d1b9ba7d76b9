// The collectives in a log of nccl-tests: all-reduces, and for predictions of collectives alone all-gathers,
// reduce-scatters and all-to-alls. Logs also have runs of other collectives, and runs that measured other times.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/fit/nccl_tests/collective_series.hpp"
#include "analysis/fit/nccl_tests/nccl_tests.hpp"
#include "simulator/collective/curve.hpp"

namespace ddpprof::fit {

struct AllReduceRun {
  NcclTestsRun run;
  std::int64_t ranks = 0;  // 2 or more
  bool derived = false;    // the number of ranks comes from the bandwidths
};

// A run of another collective.
struct OtherRun {
  NcclTestsRun run;
  std::int64_t ranks = 0;  // 2 or more
  std::string op;          // "all_gather", "reduce_scatter" or "all_to_all"
};

struct AllReduceLog {
  std::vector<AllReduceRun> runs;          // at least one, unless there are others
  std::vector<OtherRun> others;            // of read_collectives only
  std::vector<NcclTestsWarning> warnings;  // about the log as a whole, for example runs that were left out
};

// Why the times of a run cannot be used as all-reduces.
struct LogRefusal {
  std::string reason, advice;
};

// Returns nothing if these can be all-reduces of this number of ranks, or of any number if it is unknown.
std::optional<LogRefusal> all_reduce_refusal(const NcclTestsRun&, std::optional<std::int64_t> ranks);

// Reads a log. `ranks` is used for runs that do not list their ranks. Throws NcclTestsError("FILE: reason; advice") if
// no run has all-reduces of at least two ranks, if the number of ranks is unknown, or if `ranks` contradicts a run.
AllReduceLog read_all_reduces(const std::filesystem::path&, std::optional<std::int64_t> ranks = {});

// The same with the other collectives: throws only if the log has no run of either.
AllReduceLog read_collectives(const std::filesystem::path&, std::optional<std::int64_t> ranks = {});

// Reads the runs of "all_gather" or "reduce_scatter" that list their ranks. A run without the name of its program
// counts if its bandwidths agree. Throws NcclTestsError("FILE: reason; advice") if the log has none.
AllReduceLog read_others(const std::filesystem::path&, const std::string& op);

// Returns all warnings, "MESSAGE; ADVICE". With several runs, those of a run begin with its number of ranks.
std::vector<std::string> messages_of(const AllReduceLog&);

// Returns the times out of place.
collective::Curve curve_of(const AllReduceRun&);
// The same. Hosts that the log does not list count as one.
CollectiveRun collective_run(const OtherRun&);

}  // namespace ddpprof::fit
