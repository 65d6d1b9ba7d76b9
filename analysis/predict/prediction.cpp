#include "analysis/predict/prediction.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/predict/change_effect.hpp"
#include "analysis/predict/prediction_notes.hpp"
#include "analysis/predict/predictor.hpp"

namespace ddpprof::fit {
namespace {

constexpr double wide_interval = 10.0;  // high over low

std::string beginning_of_note(const Prediction& row, std::string_view beginning) {
  return row.note.starts_with(beginning) ? row.note.substr(0, row.note.find(';')) : "";
}

}  // namespace

Prediction predict(const Predictor& predictor, std::int64_t workers, const std::vector<TermGain>& why) {
  const MeasuredJob& job = predictor.job();
  const StepEstimate estimate = predictor.estimate(workers);
  const Terms& terms = estimate.terms;
  Prediction row;
  row.strategy = job.strategy();
  row.world_size = workers;
  row.gpus_per_node = job.options().gpus_per_node;
  row.step_s = terms.step_s();
  row.confidence = estimate.confidence;
  row.step_low_s = estimate.low_s;
  row.step_high_s = estimate.high_s;
  row.compute_s = terms.compute_s;
  row.communication_s = terms.communication_s;
  row.exposed_s = terms.exposed_s;
  row.latency_s = terms.latency_s;
  row.bandwidth_s = terms.bandwidth_s;
  row.skew_s = terms.skew_s;
  row.host_s = terms.host_s;
  row.other_s = terms.other_s;
  row.throughput = throughput(job, workers, row.step_s, {});
  // Weak scaling: the batch per worker is the same at every N.
  row.efficiency = predictor.central(1).step_s() / row.step_s;
  row.bound = binding(why);
  row.extrapolation = static_cast<double>(workers) / static_cast<double>(job.largest_measured());
  row.note = prediction_note(predictor, workers);
  if (is_wide(row)) row.note += "; " + wide_interval_text(row);
  return row;
}

std::string unmeasured_links(const Prediction& row) { return beginning_of_note(row, links_not_measured); }

std::string unmeasured_inside_links(const Prediction& row) { return beginning_of_note(row, inside_links_not_measured); }

std::set<std::string> strong_strategies(const std::vector<Prediction>& rows) {
  constexpr double rounding = 1e-6;
  std::map<std::string, std::map<std::int64_t, double>> samples;  // of a step, by strategy and N
  for (const Prediction& row : rows) samples[row.strategy][row.world_size] = row.throughput * row.step_s;
  std::set<std::string> strong;
  for (const auto& [strategy, by_workers] : samples) {
    const double first = by_workers.begin()->second;
    const bool equal = std::ranges::all_of(
        by_workers, [&](const auto& one) { return std::abs(one.second - first) <= rounding * first; });
    if (by_workers.size() > 1 && first > 0.0 && equal) strong.insert(strategy);
  }
  return strong;
}

bool is_wide(const Prediction& row) { return row.step_high_s > wide_interval * row.step_low_s; }

}  // namespace ddpprof::fit
