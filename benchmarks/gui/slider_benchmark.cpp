// One knob moved to the redrawn plot: simulate, set the data, paint 1280 x 800 into memory. Goal: one frame, 16 ms.
//
// `quick` is the window's work for a move: as many N as can be simulated within 4 ms, at least a coarse curve. `whole`
// is all 64 N with the text for the chosen N; the window does it after a coarse curve. The file has two repeats of 30
// steps at each N. With DDPPROF_BENCHMARK_FILE=FILE.db in the environment, a trace database is used instead.
#include <benchmark/benchmark.h>

#include <QApplication>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <vector>

#include "analysis/predict/predict.hpp"
#include "analysis/predict/predictor.hpp"
#include "benchmarks/measured_models.hpp"
#include "gui/models/scaling/snapshot.hpp"
#include "gui/pages/scaling/scaling_plot.hpp"

namespace {

using namespace ddpprof;
using benchmarks::measured_models;
using gui::whatif::Knobs;
using gui::whatif::ScalingPlot;
using gui::whatif::Simulations;
using gui::whatif::Snapshot;

// The measurements of the models, as in a database: at each N the steps of both repeats and their parts.
std::vector<metrics::Configuration> configurations_of(const fit::Models& models) {
  std::vector<metrics::Configuration> all;
  std::int64_t id = 0;
  for (const auto& [workers, profile] : models.measured.ddp) {
    metrics::Configuration configuration;
    configuration.kind = "train";
    configuration.strategy = profile.strategy;
    configuration.backend = profile.machine.backend;
    configuration.device = profile.machine.device;
    configuration.world_size = workers;
    configuration.batch_per_worker = profile.batch_per_worker;
    configuration.accumulation = 1;
    for (std::size_t repeat = 0; repeat < profile.step_repeats.size(); ++repeat) {
      configuration.measurements.push_back(++id);
      for (std::size_t i = 0; i < profile.step_repeats[repeat].size(); ++i) {
        metrics::RunStep step;
        step.measurement = id;
        step.repeat = static_cast<std::int64_t>(repeat);
        step.step = static_cast<std::int64_t>(i);
        step.kind = "measured";
        step.duration_s = profile.step_repeats[repeat][i];
        step.samples = workers * profile.batch_per_worker;
        step.compute_s = profile.forward_s + profile.backward_s + profile.optimizer_s;
        step.communication_s = profile.communication_s;
        step.exposed_s = profile.exposed_s;
        step.overlapped_s = profile.communication_s - profile.exposed_s;
        configuration.measured.push_back(std::move(step));
      }
    }
    all.push_back(std::move(configuration));
  }
  return all;
}

double at_share(std::vector<double> sorted, double share) {
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

void slider(benchmark::State& state, const std::shared_ptr<const gui::OpenedFile>& file, bool whole) {
  const Knobs measured = gui::whatif::measured_knobs(*file, gui::whatif::first_strategy(*file));
  Simulations simulations(file);
  ScalingPlot plot;
  plot.resize(1280, 800);
  plot.show();
  QApplication::processEvents();
  const auto ask = [&](const Knobs& knobs, Simulations::Clock::time_point deadline) {
    return gui::whatif::answer(simulations, {knobs, measured, 4096}, deadline, [] { return false; });
  };
  Knobs knobs = measured;
  ask(knobs, Simulations::Clock::time_point::max());  // the window has already drawn the measured points
  std::vector<double> frames_ms, simulated_ms;
  double points = 0.0;
  for (auto _ : state) {
    knobs.bandwidth = knobs.bandwidth < 10.0 ? knobs.bandwidth * 1.0137 : 0.1;  // every value is new, so none is cached
    const auto begin = Simulations::Clock::now();
    const auto deadline = whole ? Simulations::Clock::time_point::max() : begin + std::chrono::milliseconds(4);
    const Snapshot shot = ask(knobs, deadline);
    const auto simulated = Simulations::Clock::now();
    plot.show_snapshot(shot);
    plot.replot(QCustomPlot::rpImmediateRefresh);
    const auto end = Simulations::Clock::now();
    const auto ms = [](auto duration) { return std::chrono::duration<double, std::milli>(duration).count(); };
    frames_ms.push_back(ms(end - begin));
    simulated_ms.push_back(ms(simulated - begin));
    points += static_cast<double>(shot.changed->points.size());
  }
  std::sort(frames_ms.begin(), frames_ms.end());
  std::sort(simulated_ms.begin(), simulated_ms.end());
  state.counters["p50_ms"] = at_share(frames_ms, 0.5);
  state.counters["p99_ms"] = at_share(frames_ms, 0.99);
  state.counters["simulated_p50_ms"] = at_share(simulated_ms, 0.5);
  state.counters["simulated_p99_ms"] = at_share(simulated_ms, 0.99);
  state.counters["drawn_n"] = points / static_cast<double>(frames_ms.size());
}

void made_up(benchmark::State& state, bool whole) {
  auto file = std::make_shared<gui::OpenedFile>();
  file->models = std::make_shared<const fit::Models>(measured_models(state.range(0) != 0, state.range(1)));
  if (!file->models->all_reduce.usable) return state.SkipWithError(file->models->all_reduce.status.c_str());
  file->configurations = configurations_of(*file->models);
  slider(state, file, whole);
}

void quick(benchmark::State& state) { made_up(state, false); }
void whole(benchmark::State& state) { made_up(state, true); }
BENCHMARK(quick)
    ->ArgNames({"nccl", "buckets"})
    ->ArgsProduct({{1, 0}, {10, 100}})
    ->UseRealTime()
    ->Iterations(300)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(whole)
    ->ArgNames({"nccl", "buckets"})
    ->ArgsProduct({{1, 0}, {10, 100}})
    ->UseRealTime()
    ->Iterations(100)
    ->Unit(benchmark::kMillisecond);

}  // namespace

int main(int argc, char** argv) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(argc, argv);
  QApplication::setStyle("Fusion");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  if (const QString path = qEnvironmentVariable("DDPPROF_BENCHMARK_FILE"); !path.isEmpty()) {
    try {
      const auto file = gui::open_file(path.toStdString());
      if (!file->models) throw std::runtime_error(path.toStdString() + ": " + file->why_no_models);
      for (const bool all : {false, true})
        benchmark::RegisterBenchmark(all ? "whole_of_file" : "quick_of_file",
                                     [file, all](benchmark::State& state) { slider(state, file, all); })
            ->UseRealTime()
            ->Iterations(all ? 100 : 300)
            ->Unit(benchmark::kMillisecond);
    } catch (const std::exception& error) {
      std::cerr << error.what() << '\n';
      return 1;
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
