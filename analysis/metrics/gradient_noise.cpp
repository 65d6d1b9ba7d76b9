#include "analysis/metrics/gradient_noise.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "simulator/stats/summary.hpp"
#include "tracer/store/database.hpp"
#include "tracer/store/files/error.hpp"

namespace ddpprof::metrics {
namespace {

using learning_rate::NoiseSample;

// The norms of one step, as recorded by its ranks.
struct Norms {
  std::vector<double> local_sqr;
  std::optional<double> whole_sqr;  // equal on all ranks, which have the same averaged gradient
  std::int64_t samples = 0;         // per rank

  // A missing norm becomes NaN, which excludes the step.
  void add(std::optional<double> local, std::optional<double> whole) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    local_sqr.push_back(whole ? local.value_or(none) : none);
    if (!whole_sqr) whole_sqr = whole;
  }
};

struct Run {
  MeasuredNoise noise;
  std::int64_t accumulation = 1;
  std::map<std::int64_t, Norms> steps;
  std::vector<double> taken_ns, other_ns;  // durations of steps with and without norms, all ranks
};

std::optional<double> real(const SQLite::Column& column) {
  return column.isNull() ? std::nullopt : std::optional(column.getDouble());
}

std::int64_t samples_of(const std::string& options) {
  const auto parsed = nlohmann::json::parse(options, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object() || !parsed.contains("samples") || !parsed["samples"].is_number_integer()) return 0;
  return std::max<std::int64_t>(0, parsed["samples"].get<std::int64_t>());
}

std::map<std::int64_t, Run> read(SQLite::Database& db) {
  std::map<std::int64_t, Run> runs;
  SQLite::Statement row(
      db,
      "SELECT m.id, m.world_size, m.repeat, m.model, m.accumulation, m.options, st.step, st.samples, "
      "st.local_gradient_sqr, "
      "st.gradient_sqr, st.duration_ns FROM step st JOIN shard sh ON sh.id = st.shard_id "
      "JOIN measurement m ON m.id = sh.measurement_id WHERE st.kind = CASE m.kind WHEN 'train' THEN 'measured' WHEN "
      "'import' THEN 'warmup' END AND m.strategy = 'ddp' AND m.id IN (SELECT o.measurement_id FROM shard o JOIN step s "
      "ON s.shard_id = o.id WHERE s.local_gradient_sqr IS NOT NULL) ORDER BY m.id, st.step, sh.rank");
  while (row.executeStep()) {
    const auto [found, fresh] = runs.try_emplace(row.getColumn(0).getInt64());
    Run& run = found->second;
    run.noise.measurement = row.getColumn(0).getInt64();
    run.noise.workers = row.getColumn(1).getInt64();
    run.noise.repeat = row.getColumn(2).getInt64();
    run.noise.model = row.getColumn(3).getString();
    run.accumulation = row.getColumn(4).getInt64();
    if (fresh) run.noise.data_samples = samples_of(row.getColumn(5).getString());
    const auto local = real(row.getColumn(8)), whole = real(row.getColumn(9));
    const double duration_ns = static_cast<double>(row.getColumn(10).getInt64());
    if (!local && !whole) {
      run.other_ns.push_back(duration_ns);
      continue;
    }
    run.taken_ns.push_back(duration_ns);
    Norms& norms = run.steps[row.getColumn(6).getInt64()];
    norms.samples = row.getColumn(7).getInt64();
    norms.add(local, whole);
  }
  return runs;
}

// Returns the extra time of steps with norms / the time of all steps. Uses medians, so that rare slow steps, which have
// other causes, do not count.
std::optional<double> cost_of(const Run& run) {
  if (run.taken_ns.empty() || run.other_ns.empty()) return std::nullopt;
  const double other = stats::median(run.other_ns), more = stats::median(run.taken_ns) - other;
  const auto taken = static_cast<double>(run.taken_ns.size()), others = static_cast<double>(run.other_ns.size());
  const double all = taken * (other + more) + others * other;
  return all > 0.0 ? std::optional(taken * more / all) : std::nullopt;
}

MeasuredNoise conclude(Run run) {
  MeasuredNoise noise = std::move(run.noise);
  const bool alone = noise.workers == 1;
  noise.parts = alone ? run.accumulation : noise.workers;
  learning_rate::MovingNoiseScale moving(noise_keep);
  for (const auto& [number, norms] : run.steps) {
    std::optional<NoiseSample> sample;
    if (std::ssize(norms.local_sqr) == noise.workers && norms.whole_sqr)
      sample = learning_rate::noise_of_step(norms.local_sqr, *norms.whole_sqr, norms.samples, run.accumulation);
    if (!sample) {
      ++noise.incomplete;
      continue;
    }
    noise.samples_per_part = alone ? norms.samples / run.accumulation : norms.samples;
    noise.steps.push_back(*sample);
    moving.add(*sample);
  }
  noise.band = learning_rate::noise_band(noise.steps, noise_confidence);
  noise.moving_samples = moving.noise_scale_samples();
  noise.cost_share = cost_of(run);
  return noise;
}

}  // namespace

std::vector<MeasuredNoise> measured_noise(SQLite::Database& db) {
  std::vector<MeasuredNoise> all;
  for (auto& [id, run] : read(db)) all.push_back(conclude(std::move(run)));
  return all;
}

std::vector<MeasuredNoise> measured_noise(store::Database& database) {
  try {
    return measured_noise(database.sql());
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

std::optional<learning_rate::NoiseBand> concluding_band(std::span<const MeasuredNoise> all, std::int64_t base_batch) {
  const MeasuredNoise* best = nullptr;
  const auto order = [base_batch](const MeasuredNoise& noise) {
    const auto batch = static_cast<double>(noise.samples_per_part * noise.parts);
    return std::tuple(std::abs(std::log(batch / static_cast<double>(base_batch))), -noise.parts, noise.repeat);
  };
  for (const MeasuredNoise& noise : all)
    if (noise.band && std::isfinite(noise.band->noise_scale_samples.mid) && (!best || order(noise) < order(*best)))
      best = &noise;
  return best ? best->band : std::nullopt;
}

}  // namespace ddpprof::metrics
