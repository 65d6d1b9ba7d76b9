#include "analysis/report/gradient_noise.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/report/build.hpp"
#include "analysis/report/columns.hpp"
#include "simulator/stats/summary.hpp"
#include "tracer/store/database.hpp"
#include "tracer/store/error.hpp"

namespace ddpprof::report {
namespace {

using learning_rate::NoiseSample;

// One step of one measurement, as its ranks recorded it.
struct Norms {
  std::vector<double> local_sqr;
  std::optional<double> whole_sqr;  // equal on all ranks, which hold the same averaged gradient
  std::int64_t samples = 0;         // of one rank
  bool sound = true;

  void add(std::optional<double> local, std::optional<double> whole) {
    sound = sound && local && whole && *local >= 0.0 && *whole >= 0.0 && std::isfinite(*local) && std::isfinite(*whole);
    local_sqr.push_back(local.value_or(0.0));
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

std::map<std::int64_t, Run> read(SQLite::Database& db) {
  std::map<std::int64_t, Run> runs;
  SQLite::Statement row(
      db,
      "SELECT m.id, m.world_size, m.repeat, m.model, m.accumulation, st.step, st.samples, st.local_gradient_sqr, "
      "st.gradient_sqr, st.duration_ns FROM step st JOIN shard sh ON sh.id = st.shard_id "
      "JOIN measurement m ON m.id = sh.measurement_id WHERE st.kind = 'measured' AND m.kind = 'train' AND m.strategy = "
      "'ddp' AND m.id IN (SELECT o.measurement_id FROM shard o JOIN step s ON s.shard_id = o.id WHERE "
      "s.local_gradient_sqr IS NOT NULL AND s.kind = 'measured') ORDER BY m.id, st.step, sh.rank");
  while (row.executeStep()) {
    Run& run = runs[row.getColumn(0).getInt64()];
    run.noise.measurement = row.getColumn(0).getInt64();
    run.noise.workers = row.getColumn(1).getInt64();
    run.noise.repeat = row.getColumn(2).getInt64();
    run.noise.model = row.getColumn(3).getString();
    run.accumulation = row.getColumn(4).getInt64();
    const auto local = real(row.getColumn(7)), whole = real(row.getColumn(8));
    const double duration_ns = static_cast<double>(row.getColumn(9).getInt64());
    if (!local && !whole) {
      run.other_ns.push_back(duration_ns);
      continue;
    }
    run.taken_ns.push_back(duration_ns);
    Norms& norms = run.steps[row.getColumn(5).getInt64()];
    norms.samples = row.getColumn(6).getInt64();
    norms.add(local, whole);
  }
  return runs;
}

// The cost of a step with norms beside one without, times how many steps have them. Medians: a rare slow step is not
// the norms' doing.
std::optional<double> cost_of(const Run& run) {
  if (run.taken_ns.empty() || run.other_ns.empty()) return std::nullopt;
  const double other = stats::median(run.other_ns), more = stats::median(run.taken_ns) - other;
  const auto taken = static_cast<double>(run.taken_ns.size()), all = taken + static_cast<double>(run.other_ns.size());
  return other > 0.0 ? std::optional(more / other * taken / all) : std::nullopt;
}

MeasuredNoise conclude(Run run) {
  MeasuredNoise noise = std::move(run.noise);
  const bool alone = noise.workers == 1;
  noise.parts = alone ? run.accumulation : noise.workers;
  learning_rate::MovingNoiseScale moving(noise_keep);
  for (const auto& [number, norms] : run.steps) {
    const std::int64_t part = alone ? norms.samples / std::max<std::int64_t>(1, run.accumulation) : norms.samples;
    if (!norms.sound || std::ssize(norms.local_sqr) != noise.workers || noise.parts < 2 || part < 1) {
      ++noise.incomplete;
      continue;
    }
    noise.samples_per_part = part;
    const auto small = static_cast<double>(part);
    noise.steps.push_back(alone ? learning_rate::noise_of_batches(small, norms.local_sqr.front(),
                                                                  small * static_cast<double>(noise.parts),
                                                                  *norms.whole_sqr)
                                : learning_rate::noise_of_ranks(norms.local_sqr, *norms.whole_sqr, small));
    moving.add(noise.steps.back());
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
  if (noise.incomplete > 0)
    add(fmt::format("{} steps left out, in which a rank's norms are missing", noise.incomplete));
  return note;
}

double width(const MeasuredNoise& noise) {
  const stats::Interval& band = noise.band->noise_scale_samples;
  return band.low > 0.0 ? band.high / band.low : INFINITY;
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

const MeasuredNoise* narrowest(std::span<const MeasuredNoise> all) {
  const MeasuredNoise* best = nullptr;
  for (const MeasuredNoise& noise : all) {
    if (!noise.band || !std::isfinite(noise.band->noise_scale_samples.mid)) continue;
    const bool narrower = best && width(noise) < width(*best);
    const bool higher = best && width(noise) == width(*best) &&
                        noise.band->noise_scale_samples.low > best->band->noise_scale_samples.low;
    if (!best || narrower || higher) best = &noise;
  }
  return best;
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
