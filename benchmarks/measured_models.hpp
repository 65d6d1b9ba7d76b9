// Fits of a job measured at N = 2, 8 and 16, two repeats of 30 steps each: what curves over N are drawn from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/predict/predict.hpp"
#include "analysis/predict/predictor.hpp"
#include "simulator/stats/random.hpp"

namespace ddpprof::benchmarks {

// `beside_compute`: Gloo's collectives ran beside backward, so that how long a hop then waits for its turn is fitted,
// too.
inline fit::Models measured_models(bool nccl, std::int64_t buckets, bool beside_compute = true) {
  using namespace fit;
  stats::Random random(1);
  Models models;
  for (const std::int64_t workers : {2, 8, 16}) {
    StepProfile profile;
    profile.machine.workers = profile.machine.nodes = profile.machine.machines = workers;
    profile.machine.backend = nccl ? "nccl" : "gloo";
    profile.machine.device = nccl ? "cuda" : "cpu";
    profile.machine.cores = 8;
    profile.strategy = "ddp";
    profile.samples_per_worker = 32.0;
    profile.batch_per_worker = 32;
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
      if (beside_compute) point.beside_compute = 0.8;
      point.count = 30;
      models.measured.collectives.push_back(point);
    }
    profile.shares = {.compute = 0.96, .exposed = 0.03, .skew = 0.0, .other = 0.01, .input = 0.0};
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

}  // namespace ddpprof::benchmarks
