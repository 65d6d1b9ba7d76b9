#include "analysis/fit/nccl_tests/all_reduce_log.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace ddpprof::fit {
namespace {

constexpr const char* give_all_reduces = "give the output of all_reduce_perf";
constexpr const char* others_are_used = "the other runs are used";
constexpr const char* build_with_mpi =
    "build nccl-tests with MPI=1, and start it with mpirun or srun, so that its programs form one communicator";

std::string name_of_run(const NcclTestsRun& run, std::size_t number) {
  return "run " + std::to_string(number) + (run.collective.empty() ? "" : " (" + run.collective + "_perf)");
}

// Adds a warning if runs of one host each have the same ranks on different hosts.
void warn_of_single_hosts(AllReduceLog& log) {
  std::set<std::string> hosts;
  const auto alone = [&](const AllReduceRun& one) {
    return one.run.hosts == 1 && one.ranks == log.runs.front().ranks && hosts.insert(one.run.host_names[0]).second;
  };
  if (log.runs.size() < 2 || !std::ranges::all_of(log.runs, alone)) return;
  log.warnings.push_back({"log_runs_of_one_host",
                          std::to_string(log.runs.size()) + " runs have " + std::to_string(log.runs.front().ranks) +
                              " ranks on one host each: no run measured the links between these hosts",
                          std::string("if one run on all hosts was intended, ") + build_with_mpi});
}

// The name in databases of a collective of nccl-tests that is predicted; empty for others.
std::string other_op(const std::string& collective) {
  if (collective == "all_gather" || collective == "reduce_scatter") return collective;
  return collective == "alltoall" ? "all_to_all" : "";
}

// Returns the run of another collective, if its ranks are listed or given and its bandwidths agree with them.
std::optional<OtherRun> other_run(const NcclTestsRun& run, std::optional<std::int64_t> given) {
  const std::string op = other_op(run.collective);
  const std::int64_t ranks = run.ranks > 0 ? run.ranks : given.value_or(0);
  if (op.empty() || ranks < 2 || run.copies > 1 || run.cpu_times || run.root >= 0) return std::nullopt;
  if (run.ranks > 0 && given && *given != run.ranks) return std::nullopt;
  const double factor = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  if (run.bus_factor > 0.0 && std::abs(run.bus_factor / factor - 1.0) > 0.03) return std::nullopt;
  return OtherRun{run, ranks, op};
}

}  // namespace

std::optional<LogRefusal> all_reduce_refusal(const NcclTestsRun& run, std::optional<std::int64_t> ranks) {
  if (run.copies > 1)
    return LogRefusal{"every rank appears " + std::to_string(run.copies) + " times: " + std::to_string(run.copies) +
                          " programs ran side by side, because nccl-tests was built without MPI",
                      build_with_mpi};
  if (!run.collective.empty() && run.collective != "all_reduce")
    return LogRefusal{"these are not all-reduces: the test is " + run.collective + "_perf", give_all_reduces};
  if (run.cpu_times)
    return LogRefusal{
        "these are not the times of all-reduces: the column \"cputime\" has the time until the call returned",
        "run all_reduce_perf without -C (--report_cputime)"};
  if (run.operation == "none")
    return LogRefusal{"these are not all-reduces: the log's operation is \"none\"", give_all_reduces};
  if (run.root >= 0)
    return LogRefusal{"these are not all-reduces: the column \"root\" is " + std::to_string(run.root) +
                          ", and an all-reduce has no root",
                      give_all_reduces};
  if (!ranks) return std::nullopt;
  if (*ranks < 2)
    return LogRefusal{"all-reduces of one rank cannot predict several ranks", "give a log of at least 2 ranks"};
  // The other tests of nccl-tests have a lower bus bandwidth.
  const double ring = 2.0 * static_cast<double>(*ranks - 1) / static_cast<double>(*ranks);
  if (run.bus_factor > 0.0 && std::abs(run.bus_factor / ring - 1.0) > 0.03)
    return LogRefusal{
        "these are not all-reduces: busbw is not 2 (N-1)/N times algbw, with N = " + std::to_string(*ranks),
        give_all_reduces};
  return std::nullopt;
}

namespace {

// Returns what is wrong with --log-ranks for a run that does not list its ranks; nothing if the run may have this
// number of ranks, or may be of another collective.
std::optional<std::string> wrong_log_ranks(const NcclTestsRun& run, std::int64_t given) {
  if (run.ranks > 0 || !all_reduce_refusal(run, given)) return std::nullopt;
  const std::optional<std::int64_t> found = ranks_of(run);
  if (found && !all_reduce_refusal(run, found))
    return "--log-ranks " + std::to_string(given) + " contradicts the log's bandwidths, which are those of " +
           std::to_string(*found) + " ranks (busbw = 2 (N-1)/N algbw); leave --log-ranks out, or give " +
           std::to_string(*found);
  if (run.collective == "all_reduce" && !all_reduce_refusal(run, std::nullopt))
    return "--log-ranks " + std::to_string(given) +
           " contradicts the log's bandwidths: busbw is not 2 (N-1)/N times algbw for this N; give the number of ranks "
           "that the log was measured with";
  return std::nullopt;
}

AllReduceLog read_log(const std::filesystem::path& path, std::optional<std::int64_t> given, bool with_others) {
  const std::string file = path.string() + ": ";
  std::vector<NcclTestsRun> runs = read_nccl_tests(path);
  AllReduceLog log;
  std::optional<LogRefusal> first;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    NcclTestsRun& run = runs[i];
    const std::optional<std::int64_t> found = run.ranks == 0 && given ? given : ranks_of(run);
    if (const auto wrong = given ? wrong_log_ranks(run, *given) : std::nullopt) throw NcclTestsError(file + *wrong);
    std::optional<LogRefusal> refused = all_reduce_refusal(run, found);
    if (!refused && run.ranks > 0 && given && *given != run.ranks)
      throw NcclTestsError(file + "its lines name " + std::to_string(run.ranks) + " ranks, but --log-ranks is " +
                           std::to_string(*given) + "; leave --log-ranks out");
    if (!found && !refused)
      refused = LogRefusal{
          "the number of ranks is unknown (the lines \"Rank … on HOST\" are missing, and the bandwidths do not "
          "determine it)",
          "give the complete output of all_reduce_perf, or give --log-ranks to ddpprof import"};
    if (!refused) {
      log.runs.push_back({std::move(run), *found, run.ranks == 0 && !given});
      continue;
    }
    if (!first) first = refused;
    if (auto other = with_others ? other_run(run, given) : std::nullopt) {
      log.others.push_back(*std::move(other));
      continue;
    }
    log.warnings.push_back({"log_run_left_out", name_of_run(run, i + 1) + " was left out: " + refused->reason,
                            refused->advice == give_all_reduces ? others_are_used : refused->advice});
  }
  if (log.runs.empty() && log.others.empty()) throw NcclTestsError(file + first->reason + "; " + first->advice);
  warn_of_single_hosts(log);
  return log;
}

}  // namespace

AllReduceLog read_all_reduces(const std::filesystem::path& path, std::optional<std::int64_t> given) {
  return read_log(path, given, false);
}

AllReduceLog read_collectives(const std::filesystem::path& path, std::optional<std::int64_t> given) {
  return read_log(path, given, true);
}

AllReduceLog read_others(const std::filesystem::path& path, const std::string& op) {
  AllReduceLog log;
  std::vector<NcclTestsRun> runs = read_nccl_tests(path);
  const std::string give = "give the complete output of " + op + "_perf";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    NcclTestsRun& run = runs[i];
    const std::string name = name_of_run(run, i + 1);
    const bool reduces = run.operation != "none" && !run.operation.empty();
    if (run.collective.empty() && reduces == (op == "reduce_scatter")) run.collective = op;
    if (auto other = other_run(run, std::nullopt); other && other->op == op) {
      log.others.push_back(*std::move(other));
      continue;
    }
    const std::string reason = run.collective != op ? "it is not " + op + "_perf"
                               : run.ranks < 2      ? "it does not list two or more ranks"
                                                    : "its times are not those of " + op + "_perf of its ranks";
    log.warnings.push_back({"log_run_left_out", name + " was left out: " + reason, give});
  }
  if (log.others.empty()) {
    const NcclTestsWarning& first = log.warnings.front();
    throw NcclTestsError(path.string() + ": " + first.message + "; " + first.advice);
  }
  return log;
}

std::vector<std::string> messages_of(const AllReduceLog& log) {
  std::vector<std::string> messages;
  const auto add = [&](const std::string& run, const std::vector<NcclTestsWarning>& warnings) {
    for (const NcclTestsWarning& one : warnings) messages.push_back(run + one.message + "; " + one.advice);
  };
  add("", log.warnings);
  const bool several = log.runs.size() + log.others.size() > 1;
  for (const AllReduceRun& one : log.runs)
    add(several ? "run of " + std::to_string(one.ranks) + " ranks: " : "", one.run.warnings);
  for (const OtherRun& one : log.others)
    add(several ? one.op + " of " + std::to_string(one.ranks) + " ranks: " : "", one.run.warnings);
  return messages;
}

namespace {

std::vector<collective::SizeTime> times_of(const NcclTestsRun& run) {
  std::vector<collective::SizeTime> times;
  for (const NcclTestsRow& row : run.rows) times.push_back({static_cast<double>(row.bytes), row.out_of_place_s});
  return times;
}

}  // namespace

collective::Curve curve_of(const AllReduceRun& one) { return {one.ranks, times_of(one.run), one.run.hosts}; }

CollectiveRun collective_run(const OtherRun& one) {
  return {one.op, one.ranks, std::max<std::int64_t>(1, one.run.hosts), times_of(one.run)};
}

}  // namespace ddpprof::fit
