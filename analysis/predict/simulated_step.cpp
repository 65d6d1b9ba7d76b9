// The one simulation behind the model's central terms, for whoever wants to see it run.
#include <algorithm>
#include <stdexcept>

#include "analysis/predict/lanes.hpp"

namespace ddpprof::fit {

SimulatedStep Predictor::simulated_step(std::int64_t workers) const {
  if (workers < 1) throw std::invalid_argument("a step of " + std::to_string(workers) + " workers, expected 1 or more");
  if (const std::string why = refusal(workers); !why.empty()) throw std::invalid_argument(why);
  const Case at = case_at(workers);
  const Draw draw = best();
  SimulatedStep out;
  out.strategy = strategy_;
  out.workers = workers;
  out.terms = modelled(workers);
  out.step_s = central(workers).step_s();
  out.accumulation = at.profile->accumulation;
  const Terms raw = model(at, draw);
  const double scaled = scale(at, draw);
  if (strategy_ == "ddp") {
    // A measured N is predicted without a fit; what its ranks exchange cannot be simulated then.
    if (workers > 1 && !models_.all_reduce.usable)
      throw std::invalid_argument("all-reduce: " + models_.all_reduce.status);
    out.work = ddp_step(at, draw, scaled);
    out.result = step::simulate(out.work);
    out.buckets = at.buckets;
    out.gap_s = raw.other_s - raw.input_s;
    return out;
  }
  if (workers > 1 && !models_.copies.usable) throw std::invalid_argument("copies: " + models_.copies.status);
  out.copying = copies_step(at, draw);
  out.copying.data_s = raw.input_s;
  out.copying.forward_s = at.profile->forward_s * scaled * passes(at, draw);
  out.copying.backward_s = at.profile->backward_s * scaled * passes(at, draw);
  out.copying.optimizer_s = at.profile->optimizer_s;
  out.copies = step::simulate(out.copying);
  out.buffers_s = at.profile->buffers_s;
  out.gap_s = raw.other_s - raw.input_s - out.buffers_s;
  return out;
}

}  // namespace ddpprof::fit
