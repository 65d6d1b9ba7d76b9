// How long a curve over N takes once fits are there, as a slider redraws it. Goal: 64 values of N up to 4,096, 100
// buckets, with the interval: 6 ms.
#include <benchmark/benchmark.h>

#include <cmath>
#include <set>

#include "analysis/fit/predictor.hpp"
#include "simulator/stats/random.hpp"

namespace {

using namespace ddpprof::fit;

Models measured_models(bool nccl, std::int64_t buckets) {
  ddpprof::stats::Random random(1);
  Models models;
  for (const std::int64_t workers : {2, 8, 16}) {
    StepProfile profile;
    profile.machine.workers = profile.machine.nodes = profile.machine.machines = workers;
    profile.machine.backend = nccl ? "nccl" : "gloo";
    profile.machine.device = nccl ? "cuda" : "cpu";
    profile.machine.cores = 8;
    profile.strategy = "ddp";
    profile.samples_per_worker = 32.0;
    profile.forward_s = 0.1;
    profile.backward_s = 0.2;
    profile.optimizer_s = 0.01;
    profile.tail_s = 1e-4;
    profile.compute_noise = profile.step_noise = 0.01;
    profile.step_jitter = 0.01;
    profile.straggler_s = 0.002;
    for (std::int64_t i = 1; i <= buckets; ++i) {
      const std::int64_t bytes = (20 << 20) + 4 * i;  // no two of them alike
      const double ready_s = 0.2 * static_cast<double>(i) / static_cast<double>(buckets);
      profile.buckets.push_back({bytes, ready_s});
      profile.parameter_bytes += bytes;
      if (i % std::max<std::int64_t>(1, buckets / 10) != 0) continue;
      CollectivePoint point;
      point.machine = profile.machine;
      point.bytes = bytes;
      const auto n = static_cast<double>(workers);
      point.transfer_s =
          2.0 * (n - 1.0) * (10e-6 + static_cast<double>(bytes) / n / 1e11) * (1.0 + 0.02 * random.normal());
      point.noise = 0.02;
      point.count = 30;
      models.measured.collectives.push_back(point);
    }
    profile.communication_s = 0.1;
    profile.exposed_s = 0.01;
    for (int repeat = 0; repeat < 2; ++repeat) {
      std::vector<double> steps;
      for (int step = 0; step < 30; ++step) steps.push_back(0.322 * (1.0 + 0.01 * random.normal()));
      profile.step_s.insert(profile.step_s.end(), steps.begin(), steps.end());
      profile.step_repeats.push_back(std::move(steps));
    }
    models.measured.ddp.emplace(workers, std::move(profile));
  }
  models.all_reduce = fit_all_reduce(models.measured.collectives);
  models.ddp_compute = fit_compute("ddp", models.measured.ddp);
  return models;
}

// Evenly in the logarithm.
std::vector<std::int64_t> counts_up_to(std::int64_t largest, std::size_t count) {
  std::set<std::int64_t> counts;
  for (std::size_t i = 0; counts.size() < count; ++i) {
    const double at = static_cast<double>(i) / static_cast<double>(count - 1);
    counts.insert(std::max<std::int64_t>(static_cast<std::int64_t>(counts.size()) + 1,
                                         std::llround(std::pow(static_cast<double>(largest), std::min(at, 1.0)))));
  }
  return {counts.begin(), counts.end()};
}

void sweep(benchmark::State& state) {
  const Models models = measured_models(state.range(0) != 0, state.range(1));
  if (!models.all_reduce.usable) return state.SkipWithError(models.all_reduce.status.c_str());
  const Predictor predictor(models, "ddp", {});
  WhatIf change;
  change.said = {"bandwidth=1.5x"};
  change.bandwidth.factor = 1.5;
  const std::vector<std::int64_t> counts = counts_up_to(4096, 64);
  for (auto _ : state) benchmark::DoNotOptimize(predictor.curve(counts, change));
}
BENCHMARK(sweep)
    ->ArgNames({"nccl", "buckets"})
    ->ArgsProduct({{1}, {10, 100}})
    ->ArgsProduct({{0}, {2, 10, 100}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// What comes before a slider can move, once for a database.
void prepare(benchmark::State& state) {
  const Models models = measured_models(state.range(0) != 0, 100);
  for (auto _ : state) benchmark::DoNotOptimize(Predictor(models, "ddp", {}));
}
BENCHMARK(prepare)->ArgName("nccl")->Arg(1)->Arg(0)->Unit(benchmark::kMillisecond);

}  // namespace
