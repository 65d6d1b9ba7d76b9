// Time of a simulation. Goal: one configuration of 100 buckets 1 ms.
#include <benchmark/benchmark.h>

#include <vector>

#include "simulator/stats/interval.hpp"
#include "simulator/stats/random.hpp"
#include "simulator/step/ddp_step.hpp"
#include "simulator/strategy/zero_step.hpp"

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

void simulate_zero(benchmark::State& state) {
  ddpprof::strategy::ZeroStep step;
  step.blocks.assign(static_cast<std::size_t>(state.range(0)), {1e-3, 2e-3, 5e7});
  step.stage = 3;
  step.workers = 16;
  step.micro_batches = 64;
  step.link = {1e-5, 1e-10, 0.0};
  for (auto _ : state) benchmark::DoNotOptimize(ddpprof::strategy::simulate(step));
}
BENCHMARK(simulate_zero)->ArgName("blocks")->Arg(96)->Unit(benchmark::kMillisecond);

void median_interval(benchmark::State& state) {
  ddpprof::stats::Random random(1);
  std::vector<double> samples(static_cast<std::size_t>(state.range(0)));
  for (double& sample : samples) sample = random.uniform();
  for (auto _ : state) benchmark::DoNotOptimize(ddpprof::stats::median_interval(samples, 0.95));
}
BENCHMARK(median_interval)->ArgName("samples")->Arg(30)->Arg(1000)->Arg(100000);

}  // namespace
