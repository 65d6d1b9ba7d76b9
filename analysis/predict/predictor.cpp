#include "analysis/predict/predictor.hpp"

#include <algorithm>
#include <future>
#include <stdexcept>
#include <thread>
#include <utility>

#include "analysis/predict/step_interval.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

constexpr std::size_t most_threads = 16;

// Nothing for a DDP step of several ranks of a run whose collectives were not timed. An import has the times of all
// communication that it recognised.
std::optional<Terms> recorded_terms(const StepProfile& profile, const Terms& modelled, bool imported) {
  const bool ddp = profile.strategy == "ddp";
  const bool several = profile.machine.workers > 1;
  if (ddp && several && !imported && !(profile.communication_s > 0.0)) return std::nullopt;
  Terms terms;
  const double step_s = stats::median(profile.step_s);
  terms.compute_s = step_s * profile.shares.compute;
  if (several || !ddp) {
    terms.skew_s = step_s * profile.shares.skew;
    terms.exposed_s = step_s * profile.shares.exposed;
    terms.communication_s = std::max(terms.exposed_s, profile.communication_s - profile.waited_s);
    const double carried_s = modelled.latency_s + modelled.bandwidth_s;
    const double latency_share = carried_s > 0.0 ? modelled.latency_s / carried_s : 0.0;
    terms.latency_s = terms.communication_s * latency_share;
    terms.bandwidth_s = terms.communication_s - terms.latency_s;
  }
  terms.host_s = step_s * profile.shares.host;
  terms.input_s = step_s * profile.shares.input;
  // The shares add up to 1 but for rounding, which is not shown as a time.
  constexpr double rounding = 1e-9;
  terms.other_s = step_s - terms.compute_s - terms.exposed_s - terms.skew_s - terms.host_s;
  if (terms.other_s < rounding * step_s) terms.other_s = 0.0;
  return terms;
}

// Returns the low end of the measured steps of fewer ranks on machines that are loaded equally or less.
double least_s(const PreparedModel& prepared, const Machine& machine) {
  double least_s = 0.0;
  for (const auto& [workers, profile] : prepared.model.job().profiles()) {
    const Machine& other = profile.machine;
    const bool easier = workers <= machine.workers && other.nodes <= machine.nodes &&
                        other.ranks_per_machine() <= machine.ranks_per_machine() &&
                        other.threads_per_rank >= machine.threads_per_rank;
    if (easier) least_s = std::max(least_s, prepared.measured_intervals.at(workers).low);
  }
  return least_s;
}

}  // namespace

Predictor make_predictor(std::shared_ptr<const Models> models, std::string strategy, const PredictOptions& options) {
  std::shared_ptr<const Predictor> sharing;
  PredictOptions shared = options;
  shared.dedicated = false;
  const auto& ddp = models->measured.ddp;
  if (options.dedicated && strategy == "ddp" && !ddp.empty() && ddp.begin()->second.machine.device != "cuda")
    sharing = std::make_shared<const Predictor>(make_predictor(models, strategy, shared));
  StepModel model(MeasuredJob(std::move(models), std::move(strategy), options));
  std::map<std::int64_t, stats::Interval> measured_intervals;
  for (const auto& [workers, profile] : model.job().profiles())
    measured_intervals.emplace(workers, stats::clustered_median_interval(profile.step_repeats, options.confidence));
  StepParameters best_fit = model.best_fit();
  Calibrations calibrations = calibrate(model, best_fit);
  MonteCarlo samples = draw_samples(model);
  return Predictor({std::move(model), std::move(best_fit), std::move(calibrations), std::move(samples),
                    std::move(measured_intervals), std::move(sharing)});
}

std::optional<Refusal> Predictor::refusal(std::int64_t workers, const WhatIf& change) const {
  if (auto refusal = prediction_refusal(job(), workers)) return refusal;
  if (!change.any()) return std::nullopt;
  if (auto refusal = change_refusal(job(), change)) return refusal;
  return change_refusal_at(job(), workers, change);
}

std::optional<StepCase> Predictor::sharing_case(const StepCase& at) const {
  if (prepared_.sharing == nullptr) return std::nullopt;
  const std::int64_t workers = at.machine.workers;
  if (prediction_refusal(prepared_.sharing->job(), workers)) return std::nullopt;
  StepCase shared = prepared_.sharing->prepared().model.case_at(workers, at.change);
  return shared.link_range ? std::nullopt : std::optional(std::move(shared));
}

Terms Predictor::own_terms(const StepCase& at, double drift) const {
  const Calibration calibration = calibration_for(prepared_.calibrations, at.machine);
  return with_all_work(
      calibrated(prepared_.model.terms(at, prepared_.best_fit), calibration, drift, at.link_range.has_value()), at);
}

std::optional<Terms> Predictor::faster_sharing(const StepCase& at, double drift, double own_s) const {
  const std::optional<StepCase> shared = sharing_case(at);
  if (!shared) return std::nullopt;
  const Terms terms = prepared_.sharing->modelled(*shared, drift);
  return terms.step_s() < own_s ? std::optional(terms) : std::nullopt;
}

Terms Predictor::modelled(const StepCase& at, double drift) const {
  const Terms own = own_terms(at, drift);
  return faster_sharing(at, drift, own.step_s()).value_or(own);
}

bool Predictor::takes_shared_step(std::int64_t workers) const {
  const StepCase at = prepared_.model.case_at(workers);
  return !at.measured && faster_sharing(at, 0.0, own_terms(at, 0.0).step_s()).has_value();
}

std::vector<double> Predictor::steps_s(const StepCase& at, std::size_t most) const {
  std::vector<double> steps = prepared_.samples.steps_s(at, drift_sd(*this, at), most);
  if (const std::optional<StepCase> shared = sharing_case(at)) {
    // Sample i of both has the same parameters, because both were drawn from the same models with the same seed.
    const std::vector<double> sharing = prepared_.sharing->steps_s(*shared, most);
    for (std::size_t i = 0; i < std::min(steps.size(), sharing.size()); ++i) steps[i] = std::min(steps[i], sharing[i]);
  }
  return steps;
}

Terms Predictor::central(std::int64_t workers) const {
  const Terms terms = as_measured(modelled(prepared_.model.case_at(workers)));
  const StepProfile* measured = job().measured_on(job().machine_for(workers));
  return measured ? recorded_terms(*measured, terms, job().models().measured.imported).value_or(terms) : terms;
}

std::optional<Terms> Predictor::recorded(std::int64_t workers) const {
  const StepProfile* measured = job().measured_on(job().machine_for(workers));
  if (measured == nullptr) return std::nullopt;
  return recorded_terms(*measured, modelled(prepared_.model.case_at(workers)), job().models().measured.imported);
}

StepEstimate Predictor::estimate(std::int64_t workers, const WhatIf& change) const {
  if (const auto refused = refusal(workers, change)) throw std::invalid_argument(refused->reason);
  StepEstimate out;
  const StepCase at = prepared_.model.case_at(workers, change);
  stats::Interval range;
  if (at.measured && !change.any()) {
    out.terms = central(workers);
    range = prepared_.measured_intervals.at(workers);
  } else {
    out.terms = as_measured(modelled(at));
    range = step_interval(*this, at, out.terms.step_s(), prepared_.samples.count_for(change),
                          change.any() ? 0.0 : least_s(prepared_, at.machine));
  }
  out.low_s = std::min(range.low, out.terms.step_s());
  out.high_s = std::max(range.high, out.terms.step_s());
  out.confidence = std::min(job().options().confidence, range.achieved_confidence);
  return out;
}

std::vector<StepEstimate> step_curve(const Predictor& predictor, std::span<const std::int64_t> workers,
                                     const WhatIf& change) {
  std::vector<StepEstimate> all(workers.size());
  const std::size_t threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, most_threads);
  // A large N takes as long as a small one: thread t computes those at t, t + threads, …
  const auto run = [&](std::size_t first) {
    for (std::size_t i = first; i < workers.size(); i += threads) {
      try {
        all[i] = predictor.estimate(workers[i], change);
      } catch (const std::invalid_argument& error) {
        all[i].refusal = Refusal{error.what()};
      }
    }
  };
  std::vector<std::future<void>> others;
  for (std::size_t first = 1; first < std::min(threads, workers.size()); ++first)
    others.push_back(std::async(std::launch::async, run, first));
  run(0);
  for (std::future<void>& other : others) other.get();
  return all;
}

double drift_sd(const Predictor& predictor, const StepCase& at) {
  const bool other_links = at.link_range && at.machine.nodes > 1;
  return drift_of(predictor.job(), predictor.prepared().calibrations, at.machine, other_links).sd();
}

}  // namespace ddpprof::fit
