#include "analysis/predict/simulated_step.hpp"

#include <stdexcept>
#include <string>

#include "analysis/predict/step_model/ddp_terms.hpp"
#include "analysis/predict/step_model/dp_terms.hpp"
#include "analysis/predict/step_model/step_parts.hpp"

namespace ddpprof::fit {

SimulatedStep simulated_step(const Predictor& predictor, std::int64_t workers) {
  if (workers < 1) throw std::invalid_argument("a step of " + std::to_string(workers) + " workers, expected 1 or more");
  if (const auto refused = predictor.refusal(workers)) throw std::invalid_argument(refused->reason);
  const MeasuredJob& job = predictor.job();
  const StepModel& model = predictor.prepared().model;
  const StepParameters& parameters = predictor.prepared().best_fit;
  const StepCase at = model.case_at(workers);
  SimulatedStep out;
  out.strategy = job.strategy();
  out.workers = workers;
  out.terms = predictor.modelled(at);
  out.step_s = predictor.central(workers).step_s();
  out.accumulation = at.profile->accumulation;
  const Terms raw = model.terms(at, parameters);
  const double scaled = compute_scale(at, parameters);
  if (at.ddp) {
    // A measured N can be predicted without a fit of the all-reduce, but not simulated.
    if (workers > 1 && !job.models().all_reduce.usable)
      throw std::invalid_argument("all-reduce: " + job.models().all_reduce.status);
    out.work = ddp_step(at, parameters, scaled);
    out.result = step::simulate(out.work);
    out.buckets = at.buckets;
    out.gap_s = raw.other_s - raw.input_s + raw.host_gap_s;
    return out;
  }
  if (workers > 1 && !job.models().copies.usable) throw std::invalid_argument("copies: " + job.models().copies.status);
  out.copying = copies_step(at, parameters);
  out.copying.data_s = raw.input_s;
  out.copying.forward_s = at.profile->forward_s * scaled * passes_factor(at, parameters).whole;
  out.copying.backward_s = at.profile->backward_s * scaled * passes_factor(at, parameters).whole;
  out.copying.optimizer_s = at.profile->optimizer_s * optimizer_factor(at, parameters).whole;
  out.copies = step::simulate(out.copying);
  out.buffers_s = at.profile->buffers_s;
  out.gap_s = raw.other_s - raw.input_s + raw.host_gap_s - out.buffers_s;
  return out;
}

}  // namespace ddpprof::fit
