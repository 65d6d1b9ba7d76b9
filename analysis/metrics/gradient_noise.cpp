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

#include "analysis/report/tables/source.hpp"
#include "analysis/report/core/columns.hpp"
#include "simulator/stats/summary.hpp"
#include "tracer/store/database.hpp"
#include "tracer/store/files/error.hpp"

namespace ddpprof::report {
namespace {

using learning_rate::NoiseSample;

// One step of one measurement, as its ranks recorded it.
struct Norms {
  std::vector<double> local_sqr;
  std::optional<double> whole_sqr;  // equal on all ranks, which hold the same averaged gradient
  std::int64_t samples = 0;         // of one rank

  // A norm that is missing is no number, so that the step is none to conclude from.
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
  std::vector<double> taken_ns, other_ns;  // durations of steps with and without norms, of every rank
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
      "JOIN measurement m ON m.id = sh.measurement_id WHERE st.kind = 'measured' AND m.kind = 'train' AND m.strategy = "
      "'ddp' AND m.id IN (SELECT o.measurement_id FROM shard o JOIN step s ON s.shard_id = o.id WHERE "
      "s.local_gradient_sqr IS NOT NULL AND s.kind = 'measured') ORDER BY m.id, st.step, sh.rank");
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

// What steps with norms take beyond those without, of the time of all. Medians: a rare slow step is not the norms'
// doing.
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

std::string note_of(const MeasuredNoise& noise) {
  std::string note;
  const auto add = [&](const std::string& text) { note += (note.empty() ? "" : "; ") + text; };
  if (!noise.band)
    add(fmt::format("no band: {} steps are too few for how much they resemble each other; take more, or more often",
                    noise.steps.size()));
  else if (!std::isfinite(noise.band->noise_scale_samples.mid))
    add("the gradient itself cannot be told from 0 over these steps: a lower end is all there is");
  else if (!std::isfinite(noise.band->noise_scale_samples.high))
    add("no upper end: the gradient cannot be told from 0 surely enough");
  if (noise.band && noise.band->steps < steps_for_nominal_coverage)
    add(fmt::format("fewer than {} steps: where neighbours resemble each other the interval is too narrow",
                    steps_for_nominal_coverage));
  // E[g_i . g_j] of two batches from one shuffled data set of n is |G|^2 - tr(Sigma) / n.
  if (noise.band && noise.data_samples > 0) {
    const auto n = static_cast<double>(noise.data_samples);
    const double shown = noise.band->noise_scale_samples.mid;
    if (shown > n / 4.0)
      add(fmt::format("where samples are drawn without replacement, of {} a noise scale of {:.3g} shows as this", n,
                      std::isfinite(shown) ? shown * n / (shown + n) : n));
  }
  if (noise.incomplete > 0)
    add(fmt::format("{} steps left out, in which a rank's norms are missing", noise.incomplete));
  return note;
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

Table gradient_noise_table(std::span<const MeasuredNoise> all) {
  Table table;
  table.name = "gradient_noise";
  table.title = "Gradient noise scale, measured";
  table.note = fmt::format(
      "φ = tr(Σ) / |G|² in samples, from the squared norms of the gradient before and after the all-reduce in the "
      "measured steps that took them (McCandlish et al. 2018, appendix A.1); with one worker, of its first micro-batch "
      "and of the whole step. Mean over these steps with a {:.0f} % interval (Fieller's, over blocks of neighbouring "
      "steps); moving average: what the last 100 or so say. Cost: of the time of all measured steps. The noise scale "
      "grows as training goes on: what was measured is of these steps.",
      100.0 * noise_confidence);
  table.empty = fmt::format("No gradient norms in this file. Measure them: {}", measure_noise_command);
  table.columns = {count("workers", "N", "workers"),
                   count("repeat", "repeat"),
                   text("model", "model", true),
                   count("small_batch_samples", "small batch", "samples"),
                   count("large_batch_samples", "large batch", "samples"),
                   count("steps", "steps", "steps"),
                   digits(quantity("noise_scale_samples", "noise scale", "samples"), 3),
                   digits(quantity("noise_scale_low_samples", "low", "samples"), 3),
                   digits(quantity("noise_scale_high_samples", "high", "samples"), 3),
                   digits(quantity("moving_samples", "moving average", "samples"), 3),
                   digits(quantity("gradient_sqr", "|G|²", ""), 3),
                   digits(quantity("trace_samples", "tr(Σ)", ""), 3),
                   share("cost_share", "cost"),
                   prose("note", "note")};
  table.columns[1].hide_constant = true;
  table.key_columns = 2;
  const auto finite = [](double value) { return std::isfinite(value) ? Cell(value) : Cell(); };
  for (const MeasuredNoise& noise : all) {
    Row row{noise.workers,
            noise.repeat,
            noise.model,
            noise.samples_per_part,
            noise.samples_per_part * noise.parts,
            static_cast<std::int64_t>(noise.steps.size())};
    if (noise.band) {
      const stats::Interval& band = noise.band->noise_scale_samples;
      row.insert(row.end(), {finite(band.mid), band.low, finite(band.high)});
    } else {
      row.insert(row.end(), {Cell(), Cell(), Cell()});
    }
    NoiseSample mean;
    for (const NoiseSample& step : noise.steps) {
      mean.gradient_sqr += step.gradient_sqr / static_cast<double>(noise.steps.size());
      mean.trace += step.trace / static_cast<double>(noise.steps.size());
    }
    const auto known = [](const std::optional<double>& value) { return value ? Cell(*value) : Cell(); };
    row.insert(row.end(), {known(noise.moving_samples), noise.steps.empty() ? Cell() : Cell(mean.gradient_sqr),
                           noise.steps.empty() ? Cell() : Cell(mean.trace), known(noise.cost_share), note_of(noise)});
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table gradient_noise_table(const Source& source) { return gradient_noise_table(measured_noise(source.db)); }

}  // namespace ddpprof::report
