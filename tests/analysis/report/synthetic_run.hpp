// A small trace database with round numbers, so that expectations can be calculated by hand.
//
// ddp at N = 1: steps of 100 ms, 32 samples. ddp at N = 2: 4 measured steps; rank 0 takes 120, 120, 130, 140 ms, rank 1
// takes 110, 125, 130, 150 ms, so the run's steps are 115, 122.5, 130, 145 ms: median 126.25. Compute 90 and 80 ms,
// communication 50 ms of which 20 overlap, skew 4 and 0 ms. One step without DDP of 100 ms. Two all-reduces a step, of
// 1 MiB and 4 MiB. dp at N = 2: steps of 250 ms, 64 samples. ddp at N = 2 with 16 samples a worker: steps of 80 ms, for
// strong scaling. bench-comm at N = 4: 1 MiB in 1, 2 and 3 ms on rank 0 and half of that on the others.
#pragma once

#include <filesystem>
#include <string>

#include "tracer/store/database.hpp"
#include "tracer/store/rows/inserter.hpp"

namespace ddpprof::test {

inline constexpr std::int64_t ms = 1'000'000;

inline constexpr const char* scenario =
    "name: mnist-mlp\n"
    "workload:\n"
    "  model: {kind: mlp, widths: [784, 10, 10, 10]}\n"
    "  data: {samples: 10000}\n"
    "  batch_per_worker: 32\n"
    "strategies: [ddp, dp]\n"
    "workers: [1, 2]\n"
    "learning_rate: {base: 0.01, warmup_epochs: 5}\n";

inline store::MeasurementRow train(const std::string& strategy, std::int64_t workers, std::int64_t batch = 32) {
  store::MeasurementRow row;
  row.scenario_id = 1;
  row.strategy = strategy;
  row.world_size = workers;
  row.backend = strategy == "dp" ? "threads" : "gloo";
  row.model = "mlp-784-10-10-10";
  row.parameter_count = 8070;
  row.parameter_bytes = 32280;
  row.batch_per_worker = batch;
  row.cores = 2;
  row.threads_per_rank = workers == 1 ? 2 : 1;
  row.oversubscription = 1.0;
  row.versions = R"({"ddpprof":"0.1.0","torch":"2.11.0"})";
  row.started_utc_ns = 1'700'000'000'000'000'000;
  row.wall_ns = 2'000 * ms;
  return row;
}

class SyntheticRun {
 public:
  explicit SyntheticRun(const std::filesystem::path& path)
      : database(store::Database::create(path, store::Replace::yes)) {
    store::Inserter<store::ScenarioRow>(database).insert({1, "mnist-mlp", "mnist-mlp.yaml", scenario, scenario});
  }

  std::int64_t measurement(const store::MeasurementRow& row) {
    return store::Inserter<store::MeasurementRow>(database).insert(row);
  }

  std::int64_t shard(std::int64_t measurement, std::int64_t rank, std::int64_t offset_ns = 0) {
    store::ShardRow row;
    row.measurement_id = measurement;
    row.rank = rank;
    row.host = "node";
    row.pid = 100 + rank;
    row.closed = 1;
    row.clock_reference = offset_ns == 0 ? "same-clock" : "exchange";
    row.clock_offset_ns = offset_ns;
    row.clock_uncertainty_ns = offset_ns == 0 ? 0 : 20'000;
    row.raw_kept = 0;
    return store::Inserter<store::ShardRow>(database).insert(row);
  }

  std::int64_t step(std::int64_t shard, std::int64_t number, std::int64_t start_ns, std::int64_t duration_ns,
                    std::int64_t compute_ns, std::int64_t communication_ns, std::int64_t overlapped_ns,
                    std::int64_t skew_ns, std::int64_t samples = 32, std::string_view kind = "measured") {
    store::StepRow row;
    row.shard_id = shard;
    row.step = number;
    row.kind = kind;
    row.samples = samples;
    row.start_ns = start_ns;
    row.duration_ns = duration_ns;
    row.data_wait_ns = 1 * ms;
    row.forward_ns = 30 * ms;
    row.backward_ns = duration_ns - 41 * ms;
    row.optimizer_ns = 10 * ms;
    row.compute_ns = compute_ns;
    row.communication_ns = communication_ns;
    row.overlapped_ns = overlapped_ns;
    row.exposed_ns = communication_ns - overlapped_ns;
    row.skew_ns = skew_ns;
    row.loss = 2.5;
    const std::int64_t id = store::Inserter<store::StepRow>(database).insert(row);
    if (kind == "warmup") return id;
    store::Inserter<store::PhaseRow> phases(database);
    phases.insert({id, "data_wait", 0, 0, row.data_wait_ns, {}});
    phases.insert({id, "forward", 0, 1 * ms, row.forward_ns, {}});
    phases.insert({id, "backward", 0, 31 * ms, row.backward_ns, {}});
    phases.insert({id, "optimizer", 0, duration_ns - 10 * ms, row.optimizer_ns, {}});
    return id;
  }

  void collective(std::int64_t shard, std::int64_t step, std::int64_t sequence, std::int64_t bucket, std::int64_t bytes,
                  std::int64_t launch_ns, std::int64_t start_ns, std::int64_t end_ns, std::int64_t transfer_ns) {
    store::CollectiveRow row;
    row.shard_id = shard;
    row.step_id = step;
    row.communicator = -7;  // a hash above 2^63
    row.sequence = sequence;
    row.bucket = bucket;
    row.bytes = bytes;
    row.ready_ns = launch_ns - 1 * ms;
    row.launch_ns = launch_ns;
    row.start_ns = start_ns;
    row.end_ns = end_ns;
    row.transfer_ns = transfer_ns;
    row.skew_ns = end_ns - start_ns - transfer_ns;
    store::Inserter<store::CollectiveRow>(database).insert(row);
  }

  // Writes everything that the head of this file describes.
  void fill() {
    store::BulkLoad load(database);
    const std::int64_t one = shard(measurement(train("ddp", 1)), 0);
    step(one, 0, 0, 500 * ms, 100 * ms, 0, 0, 0, 32, "warmup");
    for (std::int64_t i = 1; i <= 3; ++i) step(one, i, (400 + 100 * i) * ms, 100 * ms, 100 * ms, 0, 0, 0);

    const std::int64_t two = measurement(train("ddp", 2));
    const std::int64_t ranks[] = {shard(two, 0), shard(two, 1, 5'000)};
    const std::int64_t durations[2][4] = {{120, 120, 130, 140}, {110, 125, 130, 150}};
    for (int rank = 0; rank < 2; ++rank) {
      std::int64_t at = 1000 * ms;
      for (std::int64_t i = 0; i < 4; ++i) {
        const std::int64_t took = durations[rank][i] * ms;
        const std::int64_t id =
            step(ranks[rank], i, at, took, (90 - 10 * rank) * ms, 50 * ms, 20 * ms, rank == 0 ? 4 * ms : 0);
        // In flight at the same time: 20 + 30 ms apart, the second starts before the first ends. Rank 0 waits 4 ms.
        const std::int64_t wait = rank == 0 ? 4 * ms : 0;
        collective(ranks[rank], id, 2 * i, 0, 1 << 20, at + 40 * ms, at + 42 * ms, at + 62 * ms + wait, 20 * ms);
        collective(ranks[rank], id, 2 * i + 1, 1, 4 << 20, at + 50 * ms, at + 52 * ms, at + 92 * ms, 40 * ms);
        store::Inserter<store::GradReadyRow>(database).insert({id, 0, 39 * ms});
        at += took;
      }
      step(ranks[rank], 4, at, 100 * ms, 100 * ms, 0, 0, 0, 32, "unwrapped");
    }
    store::Inserter<store::ParameterRow>(database).insert({two, 0, "fc1.weight", 7840, 31360});

    const std::int64_t dp = shard(measurement(train("dp", 2)), 0);
    for (std::int64_t i = 0; i < 3; ++i) {
      const std::int64_t id = step(dp, i, (3000 + 250 * i) * ms, 250 * ms, 150 * ms, 60 * ms, 0, 0, 64);
      store::Inserter<store::PhaseRow> phases(database);
      phases.insert({id, "replica_forward", 1, 35 * ms, 40 * ms, {}});
      phases.insert({id, "replica_forward", 2, 36 * ms, 40 * ms, {}});
      phases.insert({id, "replicate", 0, 32 * ms, 3 * ms, 32280});
    }

    const std::int64_t half = measurement(train("ddp", 2, 16));
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      const std::int64_t id = shard(half, rank);
      for (std::int64_t i = 0; i < 3; ++i) step(id, i, (5000 + 80 * i) * ms, 80 * ms, 60 * ms, 20 * ms, 10 * ms, 0, 16);
    }
    conclude();
    bench_comm();
    load.commit();
    database.finish_load();
  }

  void conclude() {
    store::FitRow fit;
    fit.name = "all_reduce";
    fit.strategy = "ddp";
    fit.form = "ring";
    fit.usable = 1;
    fit.status = "converged";
    fit.points = 2;
    fit.median_relative_error = 0.031;
    fit.parameters = R"({"alpha":{"value":5.2e-5,"unit":"s","standard_error":1.2e-6,"at_bound":false},)"
                     R"("beta":{"value":1e-9,"unit":"s/byte","standard_error":0,"at_bound":true},)"
                     R"("gamma":{"value":1,"unit":"","standard_error":0,"at_bound":false,"fixed":true},)"
                     R"("delta":{"value":0.8,"unit":"","standard_error":0.3,"at_bound":false,"identified":false}})";
    fit.residuals = R"([{"workers":2,"bytes":1048576,"measured_s":0.02,"fitted_s":0.021}])";
    store::Inserter<store::FitRow>(database).insert(fit);

    store::PredictionRow prediction;
    prediction.strategy = "ddp";
    prediction.world_size = 8;
    prediction.step_s = 0.2;
    prediction.step_low_s = 0.18;
    prediction.step_high_s = 0.23;
    prediction.confidence = 0.9;
    prediction.compute_s = 0.085;
    prediction.communication_s = 0.13;
    prediction.exposed_s = 0.11;
    prediction.latency_s = 0.01;
    prediction.bandwidth_s = 0.12;
    prediction.skew_s = 0.004;
    prediction.other_s = 0.001;
    prediction.throughput = 1280.0;
    prediction.efficiency = 0.5;
    prediction.bound = "bandwidth";
    prediction.extrapolation = 4.0;
    prediction.note = "one host";
    store::Inserter<store::PredictionRow>(database).insert(prediction);

    store::Inserter<store::LearningRateRow> rates(database);
    rates.insert({8, "linear", 256, 0.01, 0.08, 200, ""});
    store::DiagnosticRow lost;
    lost.measurement_id = 2;
    lost.severity = "error";
    lost.code = "shard_full";
    lost.count = 3;
    lost.message = "events were dropped";
    lost.advice = "Trace fewer steps.";
    lost.rank = 1;
    store::Inserter<store::DiagnosticRow>(database).insert(lost);
    lost.rank = 0;
    store::Inserter<store::DiagnosticRow>(database).insert(lost);
  }

  void bench_comm() {
    store::MeasurementRow row = train("none", 4);
    row.scenario_id.reset();
    row.kind = "bench-comm";
    row.model.clear();
    row.oversubscription = 2.0;
    const std::int64_t id = measurement(row);
    store::Inserter<store::CommPointRow> points(database);
    for (std::int64_t rank = 0; rank < 4; ++rank) {
      const std::int64_t shard_id = shard(id, rank);
      for (std::int64_t i = 0; i < 3; ++i) {
        points.insert({shard_id, "all_reduce", 1 << 20, i, (i + 1) * ms / (rank == 0 ? 1 : 2)});
      }
    }
  }

  store::Database database;
};

}  // namespace ddpprof::test
