// Time of a curve over N with existing fits, as after a slider's move. Goal: 64 values of N up to 4,096, 100
// buckets, with the interval: 6 ms.
#include <benchmark/benchmark.h>

#include <cmath>
#include <set>

#include "analysis/predict/predict.hpp"
#include "analysis/predict/predictor.hpp"
#include "benchmarks/measured_models.hpp"

namespace {

using namespace ddpprof::fit;
using ddpprof::benchmarks::measured_models;

// Values with equal distances in the logarithm.
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
  const auto models =
      std::make_shared<const Models>(measured_models(state.range(0) != 0, state.range(1), state.range(2) != 0));
  if (!models->all_reduce.usable) return state.SkipWithError(models->all_reduce.status.c_str());
  const Predictor predictor = make_predictor(models, "ddp", {});
  WhatIf change;
  change.said = {"bandwidth=1.5x"};
  change.bandwidth.factor = 1.5;
  const std::vector<std::int64_t> counts = counts_up_to(4096, 64);
  for (auto _ : state) benchmark::DoNotOptimize(step_curve(predictor, counts, change));
}
BENCHMARK(sweep)
    ->ArgNames({"nccl", "buckets", "beside"})
    ->ArgsProduct({{1}, {10, 100}, {1}})
    ->ArgsProduct({{0}, {2, 10, 100}, {0, 1}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// The work before a slider can move, once per database.
void prepare(benchmark::State& state) {
  const auto models = std::make_shared<const Models>(measured_models(state.range(0) != 0, 100));
  for (auto _ : state) benchmark::DoNotOptimize(make_predictor(models, "ddp", {}));
}
BENCHMARK(prepare)->ArgName("nccl")->Arg(1)->Arg(0)->Unit(benchmark::kMillisecond);

}  // namespace
