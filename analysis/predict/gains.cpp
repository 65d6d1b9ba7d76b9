#include "analysis/predict/gains.hpp"

#include <algorithm>
#include <utility>

#include "analysis/predict/predictor.hpp"
#include "analysis/predict/step_model/refusals.hpp"

namespace ddpprof::fit {
namespace {

// The parts of the measured step, if what its ranks exchange has no model.
std::vector<TermGain> recorded_gains(const Terms& terms) {
  const double step_s = terms.step_s();
  if (!(step_s > 0.0)) return {};
  return {{Term::compute, terms.compute_s / step_s},
          {Term::host, terms.host_s / step_s},
          {Term::bandwidth, terms.exposed_s / step_s},
          {Term::skew, terms.skew_s / step_s},
          {Term::input, terms.input_s / step_s}};
}

}  // namespace

std::vector<TermGain> gains(const Predictor& predictor, std::int64_t workers, const WhatIf& change) {
  const MeasuredJob& job = predictor.job();
  const Machine machine = job.machine_for(workers);
  if (job.is_ddp() && workers > 1 && !change.any() && communication_refusal(job))
    if (const std::optional<Terms> recorded = predictor.recorded(workers)) return recorded_gains(*recorded);
  const auto step_s = [&](std::vector<Term> free) {
    WhatIf freed = change;
    freed.free = std::move(free);
    return predictor.modelled(predictor.prepared().model.case_at(workers, freed)).step_s();
  };
  const double whole_s = step_s({});
  const auto gain = [&](double from_s, double to_s) {
    return whole_s > 0.0 ? std::clamp((from_s - to_s) / whole_s, 0.0, 1.0) : 0.0;
  };
  std::vector<TermGain> all;
  if (machine.device != "cuda" && machine.crowding() > 1.0 && !job.options().dedicated) {
    // Without compute, ranks have no work to share cores for. So the gain of compute is taken with cores of its own.
    const double own_s = step_s({Term::sharing});
    all.push_back({Term::compute, gain(own_s, step_s({Term::sharing, Term::compute}))});
    all.push_back({Term::sharing, gain(whole_s, own_s)});
  } else {
    all.push_back({Term::compute, gain(whole_s, step_s({Term::compute}))});
  }
  if (predictor.prepared().model.case_at(workers).profile->waits_for_host())
    all.push_back({Term::host, gain(whole_s, step_s({Term::host}))});
  std::vector<Term> others = {Term::input};
  if (job.is_ddp() && workers > 1) others = {Term::bandwidth, Term::latency, Term::skew, Term::input};
  if (!job.is_ddp() && workers > 1) others = {Term::input, Term::copies};
  for (const Term term : others) all.push_back({term, gain(whole_s, step_s({term}))});
  return all;
}

std::string_view binding(const std::vector<TermGain>& gains) {
  const auto most = std::max_element(gains.begin(), gains.end(),
                                     [](const TermGain& a, const TermGain& b) { return a.share < b.share; });
  return most == gains.end() || !(most->share > 0.0) ? to_string(Term::compute) : to_string(most->term);
}

}  // namespace ddpprof::fit
