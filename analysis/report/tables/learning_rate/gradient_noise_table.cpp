#include <fmt/format.h>
#include <cmath>
#include <string>

#include "analysis/report/core/columns.hpp"
#include "analysis/report/tables/learning_rate/gradient_noise_table.hpp"

namespace ddpprof::report {
namespace {

using learning_rate::NoiseSample;

std::string note_of(const metrics::MeasuredNoise& noise) {
  std::string note;
  const auto add = [&](const std::string& text) { note += (note.empty() ? "" : "; ") + text; };
  if (!noise.band)
    add(fmt::format(
        "no interval: {} {} too few for {} independent blocks of steps; measure more steps, or record "
        "norms more often",
        noise.steps.size(), noise.steps.size() == 1 ? "step is" : "steps are", learning_rate::fewest_blocks));
  else if (!std::isfinite(noise.band->noise_scale_samples.mid))
    add("no value: the mean of |G|² over these steps is not above 0");
  else if (!std::isfinite(noise.band->noise_scale_samples.high))
    add("no upper limit: the gradient is not significantly different from 0");
  if (noise.band && noise.band->steps < metrics::steps_for_nominal_coverage)
    add(fmt::format("fewer than {} steps: the interval is too narrow if neighbouring steps are correlated",
                    metrics::steps_for_nominal_coverage));
  // E[g_i . g_j] of two batches from one shuffled data set of n is |G|^2 - tr(Sigma) / n.
  if (noise.band && noise.data_samples > 0) {
    const auto n = static_cast<double>(noise.data_samples);
    const double shown = noise.band->noise_scale_samples.mid;
    if (shown > n / 4.0)
      add(fmt::format("if samples are drawn without replacement from {}, a noise scale of {:.3g} gives this value", n,
                      std::isfinite(shown) ? shown * n / (shown + n) : n));
  }
  if (noise.incomplete > 0)
    add(fmt::format("{} left out: norms of a rank are missing or not usable",
                    noise.incomplete == 1 ? std::string("1 step is") : fmt::format("{} steps are", noise.incomplete)));
  return note;
}

}  // namespace

Table gradient_noise_table(std::span<const metrics::MeasuredNoise> all) {
  Table table;
  table.name = "gradient_noise";
  table.title = "Gradient noise scale, measured";
  table.note = fmt::format(
      "φ = tr(Σ) / |G|² in samples, from the squared norms of the gradient before and after the all-reduce (McCandlish "
      "et al. 2018, appendix A.1). With one worker: from the norms of the first micro-batch and of the whole step. The "
      "value is the mean over the measured steps with recorded norms, with a {:.0f} % interval (Fieller, over blocks "
      "of neighbouring steps). Moving average: over about the last 100 steps. Cost: share of the time of all measured "
      "steps. The noise scale grows during training, so the value is valid for these steps only.",
      100.0 * metrics::noise_confidence);
  table.empty = fmt::format("This file has no gradient norms. Measure them with: {}", metrics::measure_noise_command);
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
  for (const metrics::MeasuredNoise& noise : all) {
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
    row.insert(row.end(), {known(noise.moving_samples), noise.steps.empty() ? Cell() : Cell(mean.gradient_sqr),
                           noise.steps.empty() ? Cell() : Cell(mean.trace), known(noise.cost_share), note_of(noise)});
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table gradient_noise_table(const Source& source) { return gradient_noise_table(metrics::measured_noise(source.db)); }

}  // namespace ddpprof::report
