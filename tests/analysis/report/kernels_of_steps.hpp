// An imported trace with chosen kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/analysis/report/synthetic_run.hpp"
#include "tracer/store/rows/raw_rows.hpp"

namespace ddpprof::test {

inline constexpr std::int64_t us = 1'000;

struct Kernel {
  std::string name = "gemm";
  std::int64_t time_us = 10'000, calls = 1, grid = 2, block = 128;
  std::string_view copy = {};  // a copy of this kind, of `grid` bytes, instead
  std::function<bool(int)> in_step = [](int) { return true; };
};

struct TracedSteps {
  std::vector<Kernel> kernels;
  int steps = 8;
  std::int64_t ranks = 1, step_us = 100'000;
  bool raw = true;
  std::string model = "trace";
  std::int64_t batch = 0;
  // Time added to a call, by step and rank.
  std::function<std::int64_t(int, std::int64_t)> noise_us = [](int, std::int64_t) { return 0; };
};

// Kernels of a step follow each other from its start. One more kernel before the first step belongs to no step.
inline std::int64_t import_of(SyntheticRun& run, const TracedSteps& traced) {
  store::BulkLoad load(run.database);
  store::MeasurementRow row = train("ddp", 2, traced.batch);
  row.scenario_id.reset();
  row.kind = "import";
  row.device = "cuda";
  row.backend = "nccl";
  row.model = traced.model;
  const std::int64_t measurement = run.measurement(row);
  std::map<std::string, std::int64_t> names;
  const auto name_id = [&](const std::string& name) {
    const auto [found, fresh] = names.try_emplace(name, 0);
    if (fresh) found->second = store::Inserter<store::StringRow>(run.database).insert({{}, name});
    return found->second;
  };
  for (std::int64_t rank = 0; rank < traced.ranks; ++rank) {
    store::ShardRow shard;
    shard.measurement_id = measurement;
    shard.rank = rank;
    shard.host = "node";
    shard.closed = 1;
    shard.clock_reference = "same-clock";
    shard.clock_uncertainty_ns = 0;
    shard.raw_kept = traced.raw ? 1 : 0;
    const std::int64_t id = store::Inserter<store::ShardRow>(run.database).insert(shard);
    std::map<std::string, store::KernelSummaryRow> sums;
    store::Inserter<store::KernelRow> kernels(run.database);
    store::Inserter<store::MemcpyRow> copies(run.database);
    std::int64_t begin_ns = 5'000'000'000 + rank * 1'000'000'000'000;  // unrelated clocks
    const auto add = [&](const Kernel& kernel, std::int64_t start_ns, std::int64_t took_ns) {
      const std::string name = kernel.copy.empty() ? kernel.name : std::string(kernel.copy);
      store::KernelSummaryRow& sum = sums[name];
      sum.shard_id = id;
      sum.name_id = name_id(name);
      sum.kind = !kernel.copy.empty() ? "copy" : name.find("nccl") != std::string::npos ? "communication" : "compute";
      sum.minimum_ns = sum.count == 0 ? took_ns : std::min(sum.minimum_ns, took_ns);
      sum.maximum_ns = std::max(sum.maximum_ns, took_ns);
      ++sum.count;
      sum.total_ns += took_ns;
      if (!traced.raw) return;
      if (kernel.copy.empty())
        kernels.insert({id, name_id(name), 0, 7, 0, start_ns, start_ns + took_ns, kernel.grid, kernel.block, 32, 0});
      else
        copies.insert({id, kernel.copy, 0, 7, 0, start_ns, start_ns + took_ns, kernel.grid});
    };
    if (!traced.kernels.empty()) add(traced.kernels.front(), begin_ns - 100 * ms, 50 * ms);
    for (int step = 0; step < traced.steps; ++step, begin_ns += traced.step_us * us) {
      run.step(id, step, begin_ns, traced.step_us * us, 90 * ms, 0, 0, 0, traced.batch);
      std::int64_t at_ns = begin_ns;
      for (const Kernel& kernel : traced.kernels) {
        if (!kernel.in_step(step)) continue;
        for (std::int64_t call = 0; call < kernel.calls; ++call) {
          const std::int64_t took_ns = (kernel.time_us + traced.noise_us(step, rank)) * us;
          add(kernel, at_ns, took_ns);
          at_ns += took_ns;
        }
      }
    }
    for (const auto& [name, sum] : sums) store::Inserter<store::KernelSummaryRow>(run.database).insert(sum);
  }
  load.commit();
  return measurement;
}

}  // namespace ddpprof::test
