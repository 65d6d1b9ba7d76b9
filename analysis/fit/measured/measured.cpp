#include "analysis/fit/measured/measured.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "analysis/fit/measured/batches.hpp"
#include "analysis/fit/measured/gradients.hpp"
#include "analysis/fit/measured/pool.hpp"
#include "analysis/fit/measured/profiler_cost.hpp"
#include "analysis/fit/measured/rows.hpp"
#include "analysis/fit/measured/unseen_waits.hpp"
#include "analysis/fit/measured/workloads.hpp"
#include "simulator/stats/summary.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::fit {
namespace {

struct CopyPool {
  std::vector<std::vector<double>> repeats;  // durations, s
  std::vector<double> bytes;
};
using CopyPools = std::map<std::pair<std::string, std::int64_t>, CopyPool>;  // by phase and N

// Workers, bytes, bench, and for a training's bucket the share of its all-reduce that usually ran beside compute, in
// quarters: buckets of one size are different points if one is reduced beside the backward and another after it. Last,
// NCCL's regime if it is known.
using PointKey = std::tuple<std::int64_t, std::int64_t, bool, std::int64_t, std::string>;
struct PointPool {
  Machine machine;
  std::map<std::int64_t, std::vector<double>> transfer_s;  // by measurement: repeats
  std::vector<double> concurrency;
  std::vector<double> beside_compute;
  std::vector<double> core_share;
};

// Returns the number of collectives of the same shard that are in flight during each one, on average over its duration:
// 1 if it is alone.
std::vector<double> concurrency_of(const std::vector<CollectiveInfo>& collectives) {
  std::vector<double> concurrency(collectives.size(), 1.0);
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    const CollectiveInfo& a = collectives[i];
    if (!a.start_ns || !a.end_ns || *a.end_ns <= *a.start_ns) continue;
    for (std::size_t j = i + 1; j < collectives.size(); ++j) {
      const CollectiveInfo& b = collectives[j];
      if (b.shard_id != a.shard_id || !b.start_ns || !b.end_ns || *b.start_ns >= *a.end_ns) break;  // sorted by start
      const double shared = static_cast<double>(std::min(*a.end_ns, *b.end_ns) - *b.start_ns);
      concurrency[i] += shared / static_cast<double>(*a.end_ns - *a.start_ns);
      if (*b.end_ns > *b.start_ns) concurrency[j] += shared / static_cast<double>(*b.end_ns - *b.start_ns);
    }
  }
  return concurrency;
}

// Share of a collective's life during which its rank's last backward had gradients to make.
double beside_compute(const CollectiveInfo& collective, const StepInfo& step) {
  if (!step.backward_start_ns || !step.last_ready_ns) return 0.0;
  const std::int64_t begin_ns = std::max(*collective.start_ns, step.start_ns + *step.backward_start_ns);
  const std::int64_t end_ns = std::min(*collective.end_ns, step.start_ns + *step.last_ready_ns);
  return static_cast<double>(std::max<std::int64_t>(0, end_ns - begin_ns)) /
         static_cast<double>(*collective.end_ns - *collective.start_ns);
}

void add_collectives(std::map<PointKey, PointPool>& points, const MeasurementInfo& info,
                     const std::vector<StepInfo>& steps, const std::vector<CollectiveInfo>& collectives) {
  std::map<std::int64_t, const StepInfo*> by_id;
  for (const StepInfo& step : steps) by_id[step.id] = &step;
  const std::vector<double> concurrency = concurrency_of(collectives);
  // The duration of the fastest rank is the transfer. The other ranks also waited for slower ranks.
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> fastest;
  const auto duration = [&](std::size_t i) { return *collectives[i].end_ns - *collectives[i].start_ns; };
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    if (!collectives[i].start_ns || !collectives[i].end_ns || duration(i) <= 0) continue;
    const auto key = std::pair{collectives[i].communicator, collectives[i].sequence};
    const auto [found, added] = fastest.try_emplace(key, i);
    if (!added && duration(i) < duration(found->second)) found->second = i;
  }
  // In an import without all ranks, even the fastest imported rank may have waited.
  const std::size_t imported = ranks_of_import(steps, info);
  const bool lacks_ranks = imported > 0 && static_cast<std::int64_t>(imported) < info.machine.workers;
  const auto unseen = [&](std::size_t i) { return lacks_ranks ? collectives[i].skew_ns : 0; };
  std::map<std::int64_t, std::vector<double>> beside;  // by bucket
  for (const auto& [key, i] : fastest) {
    const auto step = by_id.find(collectives[i].step_id);
    beside[collectives[i].bucket].push_back(step == by_id.end() ? 0.0 : beside_compute(collectives[i], *step->second));
  }
  for (const auto& [key, i] : fastest) {
    const double usual = stats::median(beside.at(collectives[i].bucket));
    PointPool& pool =
        points[{info.machine.workers, collectives[i].bytes, false, std::llround(4.0 * usual), collectives[i].regime}];
    pool.machine = info.machine;
    pool.transfer_s[info.id].push_back(seconds(std::max<std::int64_t>(1, duration(i) - unseen(i))));
    pool.concurrency.push_back(concurrency[i]);
    pool.beside_compute.push_back(usual);
  }
}

}  // namespace

double Machine::crowding() const {
  return std::max(1.0, static_cast<double>(ranks_per_machine() * threads_per_rank) / static_cast<double>(cores));
}

Summary summarise(const std::vector<double>& values) { return summarise(std::vector<std::vector<double>>{values}); }

Summary summarise(const std::vector<std::vector<double>>& repeats) {
  std::vector<double> values;
  std::vector<double> medians;
  for (const std::vector<double>& repeat : repeats) {
    if (repeat.empty()) continue;
    values.insert(values.end(), repeat.begin(), repeat.end());
    medians.push_back(stats::median(repeat));
  }
  if (values.empty()) return {};
  Summary summary{stats::median(values), 0.0};
  if (summary.median > 0.0) {
    // 1.2533 = sqrt(pi / 2): a median's standard error over a mean's, for normal data.
    summary.relative_error =
        1.2533 * stats::mad_sigma(values) / summary.median / std::sqrt(static_cast<double>(values.size()));
    // Steps of one run share the conditions of that run, so the spread between runs does not fall with the number of
    // steps.
    const double between = stats::standard_deviation(medians) / std::sqrt(static_cast<double>(medians.size()));
    summary.relative_error = std::hypot(summary.relative_error, between / summary.median);
  }
  return summary;
}

namespace {

// Returns the mean of all values except the slowest fortieth, and its relative standard error. A collective waits for
// its slowest hop. If hops are either quick or late, their mean matters, but a single outlier in a sweep does not.
Summary usual_mean(const std::vector<std::vector<double>>& repeats) {
  constexpr double kept = 0.975;
  std::vector<double> values, means;
  const auto usual = [](std::vector<double> all) {
    const double most = stats::quantile(all, kept);
    std::erase_if(all, [most](double value) { return value > most; });
    return all;
  };
  for (const std::vector<double>& repeat : repeats) {
    if (repeat.empty()) continue;
    const std::vector<double> own = usual(repeat);
    means.push_back(stats::mean(own));
    values.insert(values.end(), own.begin(), own.end());
  }
  if (values.empty()) return {};
  const double mean = stats::mean(values);
  const double within = stats::standard_deviation(values) / std::sqrt(static_cast<double>(values.size()));
  const double between = stats::standard_deviation(means) / std::sqrt(static_cast<double>(means.size()));
  return {mean, mean > 0.0 ? std::hypot(within, between) / mean : 0.0};
}

// Returns true if both measured the same links: equal numbers of hosts and pools of cores, and the same backend.
bool same_place(const Machine& a, const Machine& b) {
  return a.nodes == b.nodes && a.machines == b.machines && a.cores == b.cores && a.backend == b.backend;
}

// Adds sweeps of all-reduces. A sweep on other links than the trainings of its N, or than an earlier sweep, is not
// used.
void add_sweeps(std::map<PointKey, PointPool>& points, SQLite::Database& sql,
                const std::vector<MeasurementInfo>& sweeps,
                const std::map<std::pair<std::string, std::int64_t>, Pool>& trainings, Measured& measured) {
  std::map<std::int64_t, Machine> places;
  for (const auto& [key, pool] : trainings)
    if (key.first == "ddp") places.emplace(key.second, pool.profile.machine);
  for (const MeasurementInfo& info : sweeps) {
    if (info.machine.workers < 2) continue;
    const std::vector<CommInfo> all_reduces = read_comm_points(sql, info.id);
    if (all_reduces.empty()) continue;  // of other collectives
    const auto [place, added] = places.emplace(info.machine.workers, info.machine);
    if (!added && !same_place(place->second, info.machine)) {
      measured.warnings.push_back(
          "measurement " + std::to_string(info.id) + " (bench-comm, N = " + std::to_string(info.machine.workers) +
          ") ran on other hosts, cores or another backend than the other measurements at this N: "
          "not used");
      continue;
    }
    for (const CommInfo& point : all_reduces) {
      if (point.duration_ns <= 0) continue;
      PointPool& pool = points[{info.machine.workers, point.bytes, true, 0, {}}];
      pool.machine = info.machine;
      pool.transfer_s[info.id].push_back(seconds(point.duration_ns));
      if (point.processor_ns)
        pool.core_share.push_back(static_cast<double>(*point.processor_ns) / static_cast<double>(point.duration_ns));
      pool.concurrency.push_back(1.0);
    }
  }
}

// Uses the out-of-place times of nccl-tests, not the in-place times, as everywhere else.
void add_curve(SQLite::Database& sql, const MeasurementInfo& info, Measured& measured) {
  std::vector<collective::SizeTime> times;
  for (const CommInfo& point : read_comm_points(sql, info.id))
    if (point.iteration % 2 == 0 && point.bytes > 0 && point.duration_ns > 0)
      times.push_back({static_cast<double>(point.bytes), seconds(point.duration_ns)});
  if (!times.empty()) measured.curves.emplace_back(info.machine.workers, times, info.machine.nodes);
}

void add_not_predicted(SQLite::Database& sql, const MeasurementInfo& info, Measured& measured) {
  SQLite::Statement query(sql,
                          "SELECT message, advice FROM diagnostic WHERE measurement_id = ? AND code IN "
                          "('not_data_parallel', 'sharded_data_parallel', 'no_backward', ?, ?, ?) ORDER BY rowid "
                          "LIMIT 1");
  query.bind(1, info.id);
  query.bind(2, store::device_not_recorded);
  query.bind(3, store::collective_kernels_unknown);
  query.bind(4, store::world_size_unknown);
  if (!measured.not_predicted.empty() || !query.executeStep()) return;
  measured.not_predicted = query.getColumn(0).getString();
  measured.not_predicted_advice = query.getColumn(1).getString();
}

void add_copies(SQLite::Database& sql, const MeasurementInfo& info, CopyPools& pools) {
  std::map<std::string, std::vector<double>> durations_s;
  for (const CopyInfo& copy : read_copies(sql, info.id)) {
    durations_s[copy.phase].push_back(seconds(copy.duration_ns));
    pools[{copy.phase, info.machine.workers}].bytes.push_back(static_cast<double>(copy.bytes));
  }
  for (auto& [phase, values] : durations_s)
    pools[{phase, info.machine.workers}].repeats.push_back(std::move(values));
}

void add_copy_points(const CopyPools& pools, Measured& measured) {
  for (const auto& [key, copies] : pools) {
    const Summary duration = summarise(copies.repeats);
    measured.copies.push_back(
        {key.first, key.second, stats::median(copies.bytes), duration.median, duration.relative_error});
  }
}

void add_collective_points(const std::map<PointKey, PointPool>& points, Measured& measured) {
  for (const auto& [key, pool] : points) {
    std::vector<std::vector<double>> repeats;
    std::int64_t count = 0;
    for (const auto& [measurement, transfers] : pool.transfer_s) {
      repeats.push_back(transfers);
      count += static_cast<std::int64_t>(transfers.size());
    }
    const Summary transfer = usual_mean(repeats);
    measured.collectives.push_back({pool.machine, std::get<1>(key), stats::median(pool.concurrency),
                                    median_or(pool.beside_compute, 0.0), transfer.median,
                                    median_or(pool.core_share, 0.0), transfer.relative_error, count, std::get<2>(key),
                                    std::get<4>(key)});
  }
}

}  // namespace

Measured load(store::Database& database) {
  SQLite::Database& sql = database.sql();
  Measured measured;
  std::map<std::pair<std::string, std::int64_t>, Pool> pools;
  std::map<PointKey, PointPool> points;
  CopyPools copy_pools;
  std::string ddp_backend;
  std::vector<MeasurementInfo> sweeps;
  const Chosen chosen = choose_workload(read_measurements(sql), measured);
  measured.imported = !chosen.of_workload.empty() && std::ranges::all_of(chosen.of_workload, [](const auto& info) {
    return info.kind == "import" || info.from_log;
  });
  for (const MeasurementInfo& info : chosen.of_workload) {
    const Machine& machine = info.machine;
    if (info.kind == "bench-comm") {
      if (!info.from_log)
        sweeps.push_back(info);
      else if (machine.workers > 1)
        add_curve(sql, info, measured);
      continue;
    }
    if (info.strategy != "ddp" && info.strategy != "dp") {
      add_not_predicted(sql, info, measured);
      continue;
    }
    const std::vector<StepInfo> all_steps = read_steps(sql, info.id);
    std::vector<StepInfo> steps = complete_steps(all_steps, info, measured);
    measured.no_common_step |= steps.empty() && !all_steps.empty();
    if (!has_measured_step(steps)) {
      measured.warnings.push_back(name_of(info) + " contains no measured step");
      continue;
    }
    if (info.kind == "import" && machine.device == "cuda" &&
        std::ranges::any_of(steps, [](const StepInfo& step) { return step.compute_ns > 0 && !step.device_idle_ns; }))
      measured.warnings.push_back(name_of(info) +
                                  " was imported by a version that did not store how long the device waited for the "
                                  "host's launches: this time counts as compute; import the traces again");
    std::vector<CollectiveInfo> collectives = read_collectives(sql, info.id);
    const UnseenWaits waits = find_unseen_waits(info, steps, collectives);
    if (!waits.warning.empty()) measured.warnings.push_back(waits.warning);
    if (info.strategy == "ddp" && ddp_backend.empty()) ddp_backend = machine.backend;
    if (info.strategy == "ddp" && machine.backend != ddp_backend) {
      measured.warnings.push_back(name_of(info) + " ran on " + machine.backend + ", an earlier measurement on " +
                                  ddp_backend + ": not used");
      continue;
    }
    Pool& pool = pools[{info.strategy, machine.workers}];
    if (pool.profile.step_s.empty()) {
      set_setting(pool.profile, info);
      pool.profile.bucket_cap_mb = info.bucket_cap_mb;
      pool.profile.find_unused_parameters = info.find_unused_parameters;
      pool.profile.compressed = info.compressed;
    } else if (!same_setting(pool.profile, info)) {
      measured.warnings.push_back(
          name_of(info) +
          " differs from an earlier measurement at the same N in parameters, threads, cores or hosts: not used");
      continue;
    }
    pool.profile.waits_estimated |= !waits.warning.empty();
    const ProfilerCost profiler(steps);
    if (profiler.waits_longer())
      measured.warnings.push_back(name_of(info) +
                                  ": a step with the profiler waits nearly as long as a whole step without it takes, "
                                  "so the shares of compute and communication are uncertain; measure more steps");
    if (info.kind == "import" && info.strategy == "ddp" && machine.workers > 1)
      add_other_collectives(pool, steps, read_other_collectives(sql, info.id));
    const std::vector<StepInfo> own_steps = profiler.removed(steps);
    add_steps(pool, own_steps, profiler.removed(collectives, steps));
    if (info.strategy == "ddp") {
      std::vector<GradientReady> gradients = profiler.removed(read_gradients(sql, info, steps));
      if (collectives.empty()) pool.buckets_from_parameters = read_buckets(sql, info, gradients);
      if (!gradients.empty()) pool.profile.gradients = std::move(gradients);
      if (machine.workers > 1) add_collectives(points, info, steps, collectives);
    } else {
      add_copies(sql, info, copy_pools);
    }
  }
  add_sweeps(points, sql, sweeps, pools, measured);
  add_copy_points(copy_pools, measured);
  for (auto& [key, pool] : pools) {
    auto& profiles = key.first == "ddp" ? measured.ddp : measured.dp;
    profiles.emplace(key.second, condense(pool));
  }
  add_batches(sql, chosen.other_batches, measured);
  add_collective_points(points, measured);
  return measured;
}

}  // namespace ddpprof::fit
