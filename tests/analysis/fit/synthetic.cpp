#include "tests/analysis/fit/synthetic.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "simulator/stats/random.hpp"
#include "simulator/stats/summary.hpp"
#include "tracer/store/rows/inserter.hpp"

namespace ddpprof::fit::synthetic {
namespace {

std::int64_t ns(double seconds) { return std::llround(seconds * 1e9); }

std::int64_t ranks_per_host(const Truth& truth, std::int64_t workers) { return truth.own_hosts ? 1 : workers; }

double crowding(const Truth& truth, std::int64_t workers) {
  return std::max(1.0, static_cast<double>(ranks_per_host(truth, workers)) / static_cast<double>(truth.cores));
}

// How much longer a rank computes than alone on the machine.
double compute_sharing(const Truth& truth, std::int64_t workers) {
  const auto contending = static_cast<double>(std::min(ranks_per_host(truth, workers), truth.cores));
  return std::pow(crowding(truth, workers), truth.sharing_exponent) * std::pow(contending, truth.contention_exponent);
}

double all_reduce_s(const Truth& truth, std::int64_t workers, std::int64_t bytes) {
  const auto n = static_cast<double>(workers);
  const double factor = truth.nccl ? 1.0 : crowding(truth, workers);
  const double alpha_s = truth.alpha_s * std::pow(n - 1.0, truth.latency_exponent - 1.0) +
                         (factor > 1.0 ? truth.switch_s * std::pow(factor - 1.0, 0.6) : 0.0);
  const double beta_s_per_byte = factor * truth.beta_s_per_byte;
  return 2.0 * (n - 1.0) * (alpha_s + static_cast<double>(bytes) / n * beta_s_per_byte) / truth.speed;
}

struct RankStep {
  double factor;  // of its compute
  std::vector<double> ready_s;
  double backward_end_s;
  double step_s;
};

struct RunStep {
  std::vector<RankStep> ranks;
  std::vector<double> start_s, end_s;  // of each bucket's transfer; times after the common start of the step
  double step_s = 0.0;
};

RunStep play(const Truth& truth, std::int64_t workers, stats::Random& random) {
  RunStep run;
  const double shared = compute_sharing(truth, workers) / truth.speed;
  for (std::int64_t rank = 0; rank < workers; ++rank) {
    RankStep one{shared * (1.0 + truth.noise * random.normal()), {}, 0.0, 0.0};
    const double begin_s = truth.data_s + truth.forward_s * one.factor;
    for (const double ready_s : truth.ready_s) one.ready_s.push_back(begin_s + ready_s * one.factor);
    run.ranks.push_back(std::move(one));
  }
  double free_s = 0.0;
  for (std::size_t i = 0; i < truth.ready_s.size(); ++i) {
    double start_s = free_s;
    for (const RankStep& rank : run.ranks) start_s = std::max(start_s, rank.ready_s[i]);
    free_s = start_s + (workers > 1 ? all_reduce_s(truth, workers, truth.bucket_bytes[i]) : 0.0);
    run.start_s.push_back(start_s);
    run.end_s.push_back(free_s);
  }
  for (RankStep& rank : run.ranks) {
    double finish_s = rank.ready_s.back();
    for (std::size_t i = 0; i < run.end_s.size(); ++i) {
      finish_s = std::max(finish_s, run.end_s[i]) +
                 truth.copy_back_s_per_byte * static_cast<double>(truth.bucket_bytes[i]) * shared;
    }
    rank.backward_end_s = finish_s;
    rank.step_s = finish_s + truth.optimizer_s * rank.factor + truth.outside_s;
    run.step_s += rank.step_s / static_cast<double>(workers);
  }
  return run;
}

store::MeasurementRow measurement(const Truth& truth, std::int64_t workers, const char* kind, const char* strategy) {
  store::MeasurementRow row;
  row.kind = kind;
  row.strategy = strategy;
  row.world_size = workers;
  row.backend = truth.nccl ? "nccl" : "gloo";
  row.device = truth.nccl ? "cuda" : "cpu";
  row.model = "synthetic";
  for (const std::int64_t bytes : truth.bucket_bytes) row.parameter_bytes += bytes;
  row.parameter_count = row.parameter_bytes / 4;
  row.batch_per_worker = truth.batch;
  row.cores = truth.cores;
  row.nodes = truth.own_hosts ? workers : 1;
  row.oversubscription = static_cast<double>(workers) / static_cast<double>(truth.cores);
  return row;
}

std::int64_t add_shard(store::Database& database, std::int64_t measurement_id, std::int64_t rank) {
  store::ShardRow row;
  row.measurement_id = measurement_id;
  row.rank = rank;
  row.host = "host";
  row.closed = 1;
  return store::Inserter<store::ShardRow>(database).insert(row);
}

}  // namespace

double true_step_s(const Truth& truth, std::int64_t workers, std::int64_t steps) {
  stats::Random random(77);
  std::vector<double> times;
  if (truth.noise == 0.0) steps = 1;
  for (std::int64_t step = 0; step < steps; ++step) times.push_back(play(truth, workers, random).step_s);
  return stats::median(times);
}

void add_ddp(store::Database& database, const Truth& truth, const std::vector<std::int64_t>& worker_counts,
             std::uint64_t seed) {
  SQLite::Transaction transaction(database.sql());
  store::Inserter<store::MeasurementRow> measurements(database);
  store::Inserter<store::StepRow> steps(database);
  store::Inserter<store::PhaseRow> phases(database);
  store::Inserter<store::GradReadyRow> ready(database);
  store::Inserter<store::CollectiveRow> collectives(database);
  stats::Random random(seed);
  for (const std::int64_t workers : worker_counts) {
    const std::int64_t id = measurements.insert(measurement(truth, workers, "train", "ddp"));
    // One parameter a bucket.
    store::Inserter<store::ParameterRow> parameters(database);
    for (std::size_t i = 0; i < truth.bucket_bytes.size(); ++i)
      parameters.insert({id, static_cast<std::int64_t>(i), "p" + std::to_string(i), truth.bucket_bytes[i] / 4,
                         truth.bucket_bytes[i]});
    std::vector<std::int64_t> shards;
    for (std::int64_t rank = 0; rank < workers; ++rank) shards.push_back(add_shard(database, id, rank));
    std::int64_t sequence = 0;
    double clock_s = 10.0;
    for (std::int64_t step = 0; step < truth.steps; ++step) {
      const RunStep run = play(truth, workers, random);
      for (std::size_t r = 0; r < run.ranks.size(); ++r) {
        const RankStep& rank = run.ranks[r];
        const double begin_s = truth.data_s + truth.forward_s * rank.factor;
        store::StepRow row;
        row.shard_id = shards[r];
        row.step = step;
        row.samples = truth.batch;
        row.start_ns = ns(clock_s);
        row.duration_ns = ns(rank.step_s);
        row.data_wait_ns = ns(truth.data_s);
        row.forward_ns = ns(truth.forward_s * rank.factor);
        row.backward_ns = ns(rank.backward_end_s - begin_s);
        row.optimizer_ns = ns(truth.optimizer_s * rank.factor);
        row.compute_ns = ns(rank.ready_s.back() - truth.data_s + truth.optimizer_s * rank.factor);
        for (std::size_t i = 0; workers > 1 && i < rank.ready_s.size(); ++i) {
          // Buckets follow one another without a gap or stand apart: their sum is their union.
          const double entered_s = std::max(rank.ready_s[i], i > 0 ? run.end_s[i - 1] : 0.0);
          row.communication_ns += ns(run.end_s[i] - entered_s);
          row.exposed_ns += ns(std::max(0.0, run.end_s[i] - std::max(entered_s, rank.ready_s.back())));
          row.skew_ns += ns(run.start_s[i] - entered_s);
        }
        row.overlapped_ns = row.communication_ns - row.exposed_ns;
        if (truth.idle_share > 0.0) {
          // Communication beside the phases meets kernels and the time between them in proportion.
          const auto share_of = [&](std::int64_t of_ns) {
            return std::llround(truth.idle_share * static_cast<double>(of_ns));
          };
          const std::int64_t between_ns = share_of(row.overlapped_ns), idle_ns = share_of(row.compute_ns);
          row.overlapped_ns -= between_ns;
          row.exposed_ns += between_ns;
          row.compute_ns -= idle_ns;
          row.device_idle_ns = idle_ns - between_ns;
        }
        const std::int64_t step_id = steps.insert(row);
        phases.insert({step_id, "forward", 0, ns(truth.data_s), row.forward_ns, {}});
        phases.insert({step_id, "backward", 0, ns(begin_s), row.backward_ns, {}});
        phases.insert({step_id, "optimizer", 0, ns(rank.backward_end_s), row.optimizer_ns, {}});
        for (std::size_t i = 0; i < rank.ready_s.size(); ++i) {
          ready.insert({step_id, static_cast<std::int64_t>(i), ns(rank.ready_s[i])});
          store::CollectiveRow collective;
          collective.shard_id = shards[r];
          collective.step_id = step_id;
          collective.communicator = 1;
          collective.sequence = sequence + static_cast<std::int64_t>(i);
          collective.bucket = static_cast<std::int64_t>(i);
          collective.bytes = truth.bucket_bytes[i];
          collective.ready_ns = ns(clock_s + rank.ready_s[i]);
          collective.launch_ns = *collective.ready_ns;
          // A rank enters the collective when it has the bucket and the one before is done: early ranks wait inside.
          const double entered_s = std::max(rank.ready_s[i], i > 0 ? run.end_s[i - 1] : 0.0);
          collective.start_ns = ns(clock_s + entered_s);
          collective.end_ns = ns(clock_s + run.end_s[i]);
          collective.transfer_ns = ns(run.end_s[i] - run.start_s[i]);
          collective.skew_ns = *collective.end_ns - *collective.start_ns - *collective.transfer_ns;
          collectives.insert(collective);
        }
      }
      sequence += static_cast<std::int64_t>(truth.ready_s.size());
      clock_s += run.step_s;
    }
  }
  transaction.commit();
}

namespace {

struct DpParts {
  double forward_s, backward_s, optimizer_s, replicate_s, scatter_s, gather_s, reduce_s;
  double step_s(double data_s) const {
    return data_s + forward_s + backward_s + optimizer_s + replicate_s + scatter_s + gather_s + reduce_s;
  }
};
constexpr double input_bytes = 1e6;
constexpr double output_bytes = 1e4;

DpParts dp_parts(const Truth& truth, std::int64_t workers, double factor) {
  double parameter_bytes = 0.0;
  for (const std::int64_t bytes : truth.bucket_bytes) parameter_bytes += static_cast<double>(bytes);
  const double copies = workers > 1 ? static_cast<double>(workers) : 0.0;  // replica 0's own too, all on one CPU
  const auto copy_s = [&](double bytes) { return copies * (truth.copy_overhead_s + bytes * truth.copy_s_per_byte); };
  const double shared = compute_sharing(truth, workers) * factor;
  return {truth.forward_s * shared, truth.ready_s.back() * shared, truth.optimizer_s,      copy_s(parameter_bytes),
          copy_s(input_bytes),      copy_s(output_bytes),          copy_s(parameter_bytes)};
}

}  // namespace

double true_dp_step_s(const Truth& truth, std::int64_t workers) {
  return dp_parts(truth, workers, 1.0).step_s(truth.data_s);
}

void add_dp(store::Database& database, const Truth& truth, const std::vector<std::int64_t>& worker_counts,
            std::uint64_t seed) {
  SQLite::Transaction transaction(database.sql());
  store::Inserter<store::MeasurementRow> measurements(database);
  store::Inserter<store::StepRow> steps(database);
  store::Inserter<store::PhaseRow> phases(database);
  stats::Random random(seed);
  for (const std::int64_t workers : worker_counts) {
    const std::int64_t id = measurements.insert(measurement(truth, workers, "train", "dp"));
    const std::int64_t shard = add_shard(database, id, 0);
    const auto replicas = static_cast<double>(workers);
    const auto parameter_bytes = static_cast<double>(measurement(truth, workers, "", "").parameter_bytes);
    for (std::int64_t step = 0; step < truth.steps; ++step) {
      const DpParts parts = dp_parts(truth, workers, 1.0 + truth.noise * random.normal());
      store::StepRow row;
      row.shard_id = shard;
      row.step = step;
      row.samples = truth.batch * workers;
      row.duration_ns = ns(parts.step_s(truth.data_s));
      row.data_wait_ns = ns(truth.data_s);
      row.forward_ns = ns(parts.forward_s);
      row.backward_ns = ns(parts.backward_s);
      row.optimizer_ns = ns(parts.optimizer_s);
      row.copy_ns = ns(parts.replicate_s + parts.scatter_s + parts.gather_s + parts.reduce_s);
      const std::int64_t step_id = steps.insert(row);
      if (workers < 2) continue;
      const auto bytes = [&](double each) { return std::llround(replicas * each); };
      phases.insert({step_id, "replicate", 0, 0, ns(parts.replicate_s), bytes(parameter_bytes)});
      phases.insert({step_id, "scatter", 0, 0, ns(parts.scatter_s), bytes(input_bytes)});
      phases.insert({step_id, "gather", 0, 0, ns(parts.gather_s), bytes(output_bytes)});
      phases.insert({step_id, "reduce", 0, 0, ns(parts.reduce_s), bytes(parameter_bytes)});
    }
  }
  transaction.commit();
}

void add_bench(store::Database& database, const Truth& truth, const std::vector<std::int64_t>& worker_counts,
               double factor) {
  SQLite::Transaction transaction(database.sql());
  store::Inserter<store::MeasurementRow> measurements(database);
  store::Inserter<store::CommPointRow> points(database);
  for (const std::int64_t workers : worker_counts) {
    const std::int64_t id = measurements.insert(measurement(truth, workers, "bench-comm", "none"));
    for (std::int64_t rank = 0; rank < workers; ++rank) {
      const std::int64_t shard = add_shard(database, id, rank);
      for (std::int64_t bytes = 1024; bytes <= (16 << 20); bytes *= 4) {
        for (std::int64_t iteration = 0; iteration < 10; ++iteration) {
          points.insert({shard, "all_reduce", bytes, iteration, ns(factor * all_reduce_s(truth, workers, bytes))});
        }
      }
    }
  }
  transaction.commit();
}

TemporaryDatabase::TemporaryDatabase(const std::string& name)
    : path_(std::filesystem::temp_directory_path() / ("ddpprof-fit-" + std::to_string(getpid()) + "-" + name + ".db")),
      database_(store::Database::create(path_, store::Replace::yes)) {
  database_.sql().exec("PRAGMA synchronous = OFF");  // a test's file need not survive a power cut
}

TemporaryDatabase::~TemporaryDatabase() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace ddpprof::fit::synthetic
