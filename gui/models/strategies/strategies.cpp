#include "gui/models/strategies/strategies.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "analysis/metrics/lanes/step_lanes.hpp"
#include "analysis/predict/lanes.hpp"
#include "analysis/predict/standard_changes.hpp"
#include "simulator/stats/summary.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::gui {
namespace {

constexpr const char* names[] = {"dp", "ddp"};
constexpr double half = 0.5;
constexpr std::int64_t far_beyond = 4;  // times the largest measured N; the same limit as in the notes of predictions

// Only ddpprof's own trainings run with either strategy. A recorded or imported job has the one that its code chooses.
std::string not_measured(const std::string& strategy, bool of_a_scenario) {
  if (!of_a_scenario)
    return std::string("this job was not measured with ") + (strategy == "dp" ? "DataParallel" : "DDP");
  return "no step of " + strategy +
         " was measured in this file. Measure it: set strategies: [ddp, dp] in the scenario, or use ddpprof run with "
         "--set strategies=[" +
         strategy + "]";
}

// Returns the measured step that is nearest the median, over all repeats of a configuration.
const metrics::RunStep* typical(const metrics::Configuration& configuration) {
  if (configuration.measured.empty()) return nullptr;
  std::vector<double> durations_s;
  for (const metrics::RunStep& step : configuration.measured) durations_s.push_back(step.duration_s);
  const double median_s = stats::median(durations_s);
  return &*std::min_element(configuration.measured.begin(), configuration.measured.end(),
                            [&](const metrics::RunStep& a, const metrics::RunStep& b) {
                              return std::abs(a.duration_s - median_s) < std::abs(b.duration_s - median_s);
                            });
}

}  // namespace

std::int64_t Comparison::near_measured() const {
  return far_beyond * std::min(dp.largest_measured, ddp.largest_measured);
}

Strategies::Strategies(std::shared_ptr<const OpenedFile> file) : file_(std::move(file)) {
  file_->check_unchanged();
  memory_ = memory_of(read_report(file_->path, "memory"));
  for (const char* name : names) {
    const std::vector<std::int64_t> workers = file_->workers(name);
    measured_.insert(measured_.end(), workers.begin(), workers.end());
    if (workers.empty() || !file_->models) continue;
    const auto& profiles = std::string(name) == "dp" ? file_->models->measured.dp : file_->models->measured.ddp;
    if (profiles.empty()) continue;
    fit::PredictOptions measured = file_->predict;
    measured.dedicated = false;
    measured.gpus_per_node = 0;
    const fit::Predictor& predictor =
        predicted_.try_emplace(name, fit::make_predictor(file_->models, name, file_->predict)).first->second;
    as_measured_.try_emplace(name, fit::make_predictor(file_->models, name, measured));
    Curve& curve = curves_[name];
    curve.samples_per_worker = profiles.rbegin()->second.samples_per_worker;
    for (std::int64_t n = 1; n <= most_workers; n *= 2)
      if (!predictor.refusal(n)) curve.step_s[n] = predictor.central(n).step_s();
  }
  std::sort(measured_.begin(), measured_.end());
  measured_.erase(std::unique(measured_.begin(), measured_.end()), measured_.end());
}

bool Strategies::is_measured(const std::string& strategy, std::int64_t workers) const {
  return configuration(strategy, workers) != nullptr;
}

// If several batches were measured at that N, returns the configuration that predictions use.
const metrics::Configuration* Strategies::configuration(const std::string& strategy, std::int64_t workers) const {
  const fit::StepProfile* profile = nullptr;
  if (file_->models) {
    const auto& profiles = strategy == "dp" ? file_->models->measured.dp : file_->models->measured.ddp;
    if (const auto found = profiles.find(workers); found != profiles.end()) profile = &found->second;
  }
  const metrics::Configuration* first = nullptr;
  for (const metrics::Configuration& one : file_->configurations) {
    if (one.strategy != strategy || one.world_size != workers || one.measured.empty()) continue;
    if (profile && one.batch_per_worker == profile->batch_per_worker && one.accumulation == profile->accumulation)
      return &one;
    if (first == nullptr) first = &one;
  }
  return first;
}

const metrics::Configuration* Strategies::largest(const std::string& strategy) const {
  const std::vector<std::int64_t> workers = file_->workers(strategy);
  return workers.empty() ? nullptr : configuration(strategy, workers.back());
}

Comparison Strategies::compare(std::int64_t workers, Source source, std::int64_t rank) const {
  if (workers < 1 || workers > most_workers)
    throw std::invalid_argument("N = " + std::to_string(workers) + ": expected 1 to " + std::to_string(most_workers));
  Comparison out;
  out.workers = workers;
  out.dp = side("dp", workers, source, 0);
  out.ddp = side("ddp", workers, source, rank);
  const auto dp = curves_.find("dp"), ddp = curves_.find("ddp");
  if (dp == curves_.end() || ddp == curves_.end()) return out;
  const std::int64_t near = out.near_measured();
  out.shares_cores = !file_->predict.dedicated && std::ranges::any_of(predicted_, [&](const auto& one) {
    return fit::shares_cores(one.second.job(), near);
  });
  out.both_predicted = dp->second.step_s.contains(most_workers) && ddp->second.step_s.contains(most_workers);
  for (auto at = ddp->second.step_s.rbegin(); out.both_predicted && at != ddp->second.step_s.rend(); ++at) {
    const auto beside = dp->second.step_s.find(at->first);
    if (beside == dp->second.step_s.end() || at->first < 2) break;
    // Compares throughput at equal N: samples per worker / step time.
    if (ddp->second.samples_per_worker * beside->second <= dp->second.samples_per_worker * at->second) break;
    out.ddp_ahead_from = at->first;
  }
  return out;
}

Side Strategies::side(const std::string& strategy, std::int64_t workers, Source source, std::int64_t rank) const {
  Side out;
  out.strategy = strategy;
  out.in_file = file_->has(strategy);
  if (out.in_file) out.largest_measured = file_->workers(strategy).back();
  out.measured = source == Source::measured && is_measured(strategy, workers);
  if (const metrics::Configuration* here = out.measured ? configuration(strategy, workers) : largest(strategy)) {
    out.backend = here->backend;
    out.hosts = here->nodes;
    out.imported = here->kind == "import";
  }
  out.memory = memory(strategy, workers);
  out.traffic = traffic(strategy, workers);
  add_figures(out, workers);
  add_lanes(out, workers, rank);
  if (const auto curve = curves_.find(strategy); curve != curves_.end() && curve->second.step_s.contains(1)) {
    const double alone_s = curve->second.step_s.at(1);
    for (const auto& [n, step_s] : curve->second.step_s) {
      if (n == 1) continue;
      if (alone_s < half * step_s) break;
      out.half_efficient_up_to = n;
    }
  }
  return out;
}

void Strategies::add_figures(Side& side, std::int64_t workers) const {
  const std::string& strategy = side.strategy;
  const auto& predictors = side.measured ? as_measured_ : predicted_;
  const auto found = predictors.find(strategy);
  if (found == predictors.end()) {
    side.measured = false;
    side.why_not = side.in_file && !file_->why_no_models.empty()
                       ? file_->why_no_models
                       : not_measured(strategy, file_->scenario.has_value());
    return;
  }
  const fit::Predictor& predictor = found->second;
  if (const auto refused = predictor.refusal(workers)) {
    side.measured = false;
    side.why_not = refused->reason + ". Measure " + strategy + " at more than one N";
    return;
  }
  store::PredictionRow row = fit::predict(predictor, workers, fit::gains(predictor, workers));
  try {
    std::optional<TimeParts> parts;
    if (side.measured)
      if (const std::optional<fit::Terms> recorded = predictor.recorded(workers)) {
        parts = recorded_parts(*recorded);
        const auto profile = predictor.job().profiles().find(workers);
        side.waits_estimated = profile != predictor.job().profiles().end() && profile->second.waits_estimated;
      }
    if (!parts) {
      const fit::SimulatedStep simulated = fit::simulated_step(predictor, workers);
      step::StepLanes lanes = fit::simulated_lanes(simulated);
      parts = simulated_parts(lanes);
      side.parts_simulated = true;
      parts->hidden_s = hidden_s(simulated.terms);
      if (!side.measured) side.lanes = std::move(lanes);
    }
    side.parts = *parts;
  } catch (const std::invalid_argument& error) {
    if (!side.measured) {
      side.why_not = std::string(error.what()) + ". Measure " + strategy + " at more than one N";
      return;
    }
    side.parts_simulated = true;
    side.parts.not_modelled_s = row.step_s;  // the parts were neither recorded nor simulated
  }
  side.row = std::move(row);
}

void Strategies::add_lanes(Side& side, std::int64_t workers, std::int64_t rank) const {
  if (!side.row) {
    side.why_no_lanes = side.why_not;
    return;
  }
  if (!side.measured) return;  // add_figures has set the simulated lanes
  try {
    const metrics::RunStep* step = typical(*configuration(side.strategy, workers));
    if (step == nullptr) {
      side.why_no_lanes = "no complete step was measured";
      return;
    }
    file_->check_unchanged();
    store::Database database = store::Database::open_read(file_->path);
    side.lanes = metrics::measured_lanes(database, step->measurement, side.strategy == "dp" ? 0 : rank, step->step);
  } catch (const std::invalid_argument& error) {
    side.why_no_lanes = error.what();
  }
}

}  // namespace ddpprof::gui
