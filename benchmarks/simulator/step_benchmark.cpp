// Time of a simulation. Goals: one configuration of 100 buckets 1 ms; every hop of a ring of 1,024 ranks and
// four buckets 0.1 s; 16,384 ranks that differ 5 s.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "simulator/hops/hops.hpp"
#include "simulator/stats/interval.hpp"
#include "simulator/stats/random.hpp"
#include "simulator/step/ddp_ranks.hpp"
#include "simulator/step/ddp_step.hpp"
#include "simulator/strategy/parallel.hpp"

namespace {

using ddpprof::step::DdpStep;

DdpStep step_with(std::int64_t buckets, int lanes) {
  DdpStep step;
  step.forward_s = 0.05;
  step.backward_s = 0.1;
  step.slowdown = 1.1;
  step.straggler_s = 0.002;
  step.lanes = lanes;
  for (std::int64_t i = 1; i <= buckets; ++i) {
    const double ready_s = 0.1 * static_cast<double>(i) / static_cast<double>(buckets);
    step.buckets.push_back({ready_s, ddpprof::collective::ring(64, 25e6, {1e-5, 1e-10, 1e-11}), 1e-4});
  }
  return step;
}

void simulate_step(benchmark::State& state) {
  const DdpStep step = step_with(state.range(0), static_cast<int>(state.range(1)));
  for (auto _ : state) benchmark::DoNotOptimize(ddpprof::step::simulate(step));
}
BENCHMARK(simulate_step)->ArgNames({"buckets", "lanes"})->ArgsProduct({{1, 10, 100, 1000}, {1, 2}});

// Every rank on the graph, each with its own pace and delays.
void simulate_ranks(benchmark::State& state) {
  DdpStep step = step_with(state.range(1), 1);
  step.slowdown = 1.0;
  step.straggler_s = 0.0;
  for (auto& bucket : step.buckets) bucket.copy_back_s = 0.0;
  ddpprof::stats::Random random(1);
  ddpprof::step::RankDifferences ranks;
  for (std::int64_t rank = 0; rank < state.range(0); ++rank) {
    ranks.pace.push_back(1.0 + 0.05 * random.uniform());
    for (std::int64_t part = 0; part <= state.range(1); ++part) ranks.extra_s.push_back(1e-5 * random.uniform());
  }
  for (auto _ : state) benchmark::DoNotOptimize(ddpprof::step::simulate(step, ranks));
}
BENCHMARK(simulate_ranks)
    ->ArgNames({"ranks", "buckets"})
    ->Args({64, 100})
    ->Args({1024, 100})
    ->Args({16384, 100})
    ->Unit(benchmark::kMillisecond);

// Every hop of four buckets' ring all-reduces.
void simulate_ring_hops(benchmark::State& state) {
  const auto ranks = static_cast<std::size_t>(state.range(0));
  ddpprof::hops::Ring ring(std::vector<ddpprof::collective::Link>(ranks, {1.5e-6, 1e-10, 0.0}));
  std::vector<double> free_s(ranks);
  for (auto _ : state) {
    std::fill(free_s.begin(), free_s.end(), 0.0);
    for (int bucket = 1; bucket <= 4; ++bucket) {
      for (double& time : free_s) time = std::max(time, bucket * 5e-3);
      ring.all_reduce(static_cast<double>((25 << 20) / state.range(0)), free_s);
    }
    benchmark::DoNotOptimize(free_s.data());
  }
}
BENCHMARK(simulate_ring_hops)->ArgName("ranks")->Arg(64)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);

void simulate_plan(benchmark::State& state) {
  ddpprof::strategy::Job job;
  job.blocks.assign(static_cast<std::size_t>(state.range(0)), {1e-3, 2e-3, 5e7, 1e8, 1e7, 2});
  ddpprof::strategy::Plan plan{.data = 16, .tensor = 8, .pipeline = 8, .micro_batches = 64, .zero = 1};
  const ddpprof::collective::Network network{{2e-6, 1e-11, 0.0}, {1e-5, 1e-10, 0.0}, 8, 8};
  for (auto _ : state) benchmark::DoNotOptimize(ddpprof::strategy::simulate(job, plan, network));
}
BENCHMARK(simulate_plan)->ArgName("blocks")->Arg(96)->Unit(benchmark::kMillisecond);

void median_interval(benchmark::State& state) {
  ddpprof::stats::Random random(1);
  std::vector<double> samples(static_cast<std::size_t>(state.range(0)));
  for (double& sample : samples) sample = random.uniform();
  for (auto _ : state) benchmark::DoNotOptimize(ddpprof::stats::median_interval(samples, 0.95));
}
BENCHMARK(median_interval)->ArgName("samples")->Arg(30)->Arg(1000)->Arg(100000);

}  // namespace
