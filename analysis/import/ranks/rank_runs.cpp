#include "analysis/import/ranks/rank_runs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analysis/import/ranks/error.hpp"
#include "runner/launcher/exchange/rendezvous.hpp"
#include "runner/scenario/read.hpp"

namespace ddpprof::ranks {
namespace {

using nlohmann::json;
using scenario::Scenario;
using scenario::Strategy;

Strategy strategy_of(const RankRun& run) {
  return run.ranks.front().start.value("strategy", "ddp") == "dp" ? Strategy::dp : Strategy::ddp;
}

std::int64_t started_utc_ns(const RankRun& run) {
  std::int64_t first = run.ranks.front().start.value("started_utc_ns", std::int64_t{0});
  for (const RankRecord& rank : run.ranks) first = std::min(first, rank.start.value("started_utc_ns", first));
  return first;
}

Scenario scenario_of(const RankRecord& rank) {
  const std::string file = rank_files(rank.folder, rank.attempt, rank.rank).scenario.string();
  scenario::ReadResult read = scenario::read_text(rank.scenario, file);
  if (!read.problems.empty())
    throw InvalidRecords(read.problems.front().text(), "a scenario of this version of ddpprof",
                         "measure again with this version");
  return read.scenario;
}

// The scenario as YAML, without the keys of `ddpprof run`'s sweep and of one world size.
std::string comparable(Scenario scenario) {
  scenario.workers = {1};
  scenario.strategies = {Strategy::ddp};
  scenario.output = {};
  return scenario::to_yaml(scenario);
}

// Sets device and backend from the scenario, for a run in which no rank reached its end and wrote the actual ones.
void asked_for(MeasurementSetup& setup, const Scenario& scenario) {
  const bool cuda =
      scenario.device == scenario::DeviceChoice::cuda || scenario.backend == scenario::BackendChoice::nccl;
  setup.device = cuda ? "cuda" : "cpu";
  const bool chosen = scenario.backend != scenario::BackendChoice::automatic;
  setup.backend = setup.configuration.strategy == Strategy::dp ? "none"
                  : chosen                                     ? to_string(scenario.backend)
                  : cuda                                       ? "nccl"
                                                               : "gloo";
}

std::string versions_of(const RankRun& run) {
  for (const RankRecord& rank : run.ranks)
    if (rank.result)
      return fmt::format("ddpprof {}, torch {}", rank.result->value("program_version", "?"),
                         rank.result->value("torch_version", "?"));
  return "";
}

std::string folders_of(const RankRun& run) {
  std::set<std::string> folders;
  for (const RankRecord& rank : run.ranks) folders.insert(rank.folder.string());
  return fmt::format("{}", fmt::join(folders, ", "));
}

std::string name_of(const RankRun& run) {
  return fmt::format("{} N={} ({})", run.bench_comm() ? "bench-comm" : to_string(strategy_of(run)), run.workers(),
                     folders_of(run));
}

void find_missing(RankRun& run) {
  std::vector<std::string> absent;
  std::size_t at = 0;
  for (std::int64_t rank = 0; rank < run.processes(); ++rank) {
    if (at < run.ranks.size() && run.ranks[at].rank == rank) {
      if (!run.ranks[at].result)
        run.missing.push_back(run.ranks[at].place() + " has no result: it still runs, or it failed; see its output");
      ++at;
    } else {
      absent.push_back(std::to_string(rank));
    }
  }
  if (!absent.empty())
    run.missing.push_back(fmt::format("rank{} {} of {} {} missing: give the folders of all hosts",
                                      absent.size() == 1 ? "" : "s", launcher::ranks_text(absent), run.processes(),
                                      absent.size() == 1 ? "is" : "are"));
}

void check_scenarios(const std::vector<RankRun>& runs) {
  const std::string first = comparable(runs.front().scenario);
  for (const RankRun& run : runs) {
    if (run.bench_comm()) continue;  // it trains nothing; runs that train come first
    const std::string other = comparable(run.scenario);
    if (other == first) continue;
    throw InvalidRecords(fmt::format("{} and {} have different scenarios: {}", name_of(runs.front()), name_of(run),
                                     launcher::first_difference(first, other)),
                         "runs of one scenario", "import each scenario into a database of its own");
  }
}

void check_versions(std::vector<RankRun>& runs, std::vector<std::string>& notes) {
  const std::string first = versions_of(runs.front());
  for (RankRun& run : runs) {
    const std::string own = versions_of(run);
    if (own == first || own.empty() || first.empty()) continue;
    run.differences.push_back(fmt::format("measured with {}, while {} was with {}", own, name_of(runs.front()), first));
    notes.push_back(name_of(run) + ": " + run.differences.back());
  }
}

std::int64_t number(const RankRun& run, const char* key, std::int64_t otherwise) {
  for (const RankRecord& rank : run.ranks)
    if (rank.result) return rank.result->value(key, otherwise);
  return otherwise;
}

// Compute threads per core, on the host where this ratio is largest.
double oversubscription(const RankRun& run, std::int64_t threads, bool on_gpu) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> pools;  // ranks, cores
  for (const RankRecord& rank : run.ranks) {
    if (!rank.result) continue;
    auto& [ranks, cores] = pools[rank.result->value("pool", rank.result->value("host", ""))];
    ++ranks;
    const std::int64_t host_cores = rank.result->value("host_cores", std::int64_t{1});
    cores = std::max({std::int64_t{1}, cores, rank.result->value("pool_cores", host_cores)});
  }
  const bool replicas_share = strategy_of(run) == Strategy::dp && !on_gpu;
  double most = 0.0;
  for (const auto& [pool, use] : pools) {
    const std::int64_t sharing = replicas_share ? run.workers() : use.first;
    most = std::max(most, static_cast<double>(sharing * threads) / static_cast<double>(use.second));
  }
  return most;
}

store::DiagnosticRow note(const char* severity, const char* code, const std::string& message, const char* advice) {
  store::DiagnosticRow row;
  row.severity = severity;
  row.code = code;
  row.message = message;
  row.advice = advice;
  return row;
}

}  // namespace

bool RankRun::bench_comm() const { return ranks.front().start.value("mode", "train") == "bench-comm"; }

bool RankRun::without_ddp() const { return ranks.front().start.value("trained_with", "") == "none"; }

std::int64_t RankRun::workers() const { return ranks.front().start.value("workers", processes()); }

std::vector<RankRun> group_runs(std::vector<RankRecord> records, bool partial, std::vector<std::string>& notes) {
  std::map<std::string, RankRun> by_name;
  std::vector<std::string> problems;
  for (RankRecord& record : records) {
    if (record.run.empty()) {
      const std::string alone =
          fmt::format("{} in {} never met the other ranks; see its output", record.place(), record.folder.string());
      (partial ? notes : problems).push_back(alone);
      continue;
    }
    by_name[record.run].ranks.push_back(std::move(record));
  }
  std::vector<RankRun> runs;
  for (auto& [name, run] : by_name) {
    std::ranges::sort(run.ranks, {}, [](const RankRecord& rank) { return std::tuple(rank.rank, rank.folder); });
    for (std::size_t i = 1; i < run.ranks.size(); ++i)
      if (run.ranks[i].rank == run.ranks[i - 1].rank)
        problems.push_back(fmt::format("{} is in {} and in {}: the same results are given twice", run.ranks[i].place(),
                                       run.ranks[i - 1].folder.string(), run.ranks[i].folder.string()));
    find_missing(run);
    for (const std::string& sentence : run.missing)
      (partial ? notes : problems).push_back(fmt::format("{}: {}", name_of(run), sentence));
    run.scenario = scenario_of(run.ranks.front());
    runs.push_back(std::move(run));
  }
  if (problems.empty() && runs.empty()) problems = notes;
  if (!problems.empty())
    throw InvalidRecords(
        fmt::format("{}", fmt::join(problems, "\n")), "every rank of each run",
        runs.empty() ? "start the ranks again" : "give the missing folders, or --partial to import what is there");
  std::ranges::sort(runs, {}, [](const RankRun& run) {
    return std::tuple(run.bench_comm(), strategy_of(run), run.workers(), started_utc_ns(run), run.ranks.front().run);
  });
  check_scenarios(runs);
  check_versions(runs, notes);
  return runs;
}

Scenario common_scenario(const std::vector<RankRun>& runs) {
  Scenario scenario = runs.front().scenario;
  std::set<std::int64_t> workers;
  std::set<Strategy> strategies;
  const bool trained = std::ranges::any_of(runs, [](const RankRun& run) { return !run.bench_comm(); });
  for (const RankRun& run : runs) {
    if (trained && run.bench_comm()) continue;
    workers.insert(run.workers());
    strategies.insert(strategy_of(run));
  }
  scenario.workers.assign(workers.begin(), workers.end());
  scenario.strategies.assign(strategies.begin(), strategies.end());
  return scenario;
}

MeasurementSetup setup_of(const RankRun& run, const Scenario& common) {
  MeasurementSetup setup;
  setup.scenario = common;
  setup.configuration.strategy = strategy_of(run);
  setup.configuration.workers = run.workers();
  setup.mode = run.bench_comm() ? WorkerMode::bench_comm : WorkerMode::train;
  setup.started_by = run.ranks.front().start.value("started_by", "");
  setup.job = run.ranks.front().start.value("job", "");
  asked_for(setup, run.scenario);
  for (const RankRecord& rank : run.ranks) {
    if (!rank.result) continue;
    const std::string device = rank.result->value("device", "cpu");
    setup.device = device.substr(0, device.find(':'));
    setup.backend = rank.result->value("backend", "gloo");
    break;
  }
  setup.cores = number(run, "pool_cores", number(run, "cores", 1));
  setup.configuration.threads_per_rank = number(run, "threads", 1);
  setup.configuration.oversubscription =
      oversubscription(run, setup.configuration.threads_per_rank, setup.device == "cuda");
  return setup;
}

Recorded recorded_of(const RankRun& run) {
  Recorded recorded;
  recorded.started_utc_ns = started_utc_ns(run);
  for (const RankRecord& rank : run.ranks) {
    recorded.shards.insert(recorded.shards.end(), rank.shards.begin(), rank.shards.end());
    if (!rank.result) continue;
    recorded.results.by_rank.emplace(rank.rank, *rank.result);
    recorded.wall_ns = std::max(recorded.wall_ns, rank.result->value("wall_ns", std::int64_t{0}));
  }
  if (!run.missing.empty()) recorded.failure = fmt::format("{}", fmt::join(run.missing, "; "));
  for (const std::string& sentence : run.missing)
    recorded.notes.push_back(
        note("error", "missing_rank", sentence, "do not compare this measurement with complete ones"));
  for (const std::string& sentence : run.differences)
    recorded.notes.push_back(
        note("warning", "versions_differ", sentence,
             "a difference between these measurements may come from the program and not from the world size"));
  if (run.without_ddp())
    recorded.notes.push_back(note("info", "trained_without_ddp",
                                  "one process without DDP: no process group, no Reducer, no copies into buckets; it "
                                  "stands as N = 1 of ddp",
                                  "start one rank with WORLD_SIZE=1 RANK=0 to have DDP's own cost in N = 1"));
  return recorded;
}

}  // namespace ddpprof::ranks
