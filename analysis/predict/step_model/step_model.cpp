#include "analysis/predict/step_model/step_model.hpp"

#include "analysis/predict/step_model/ddp_terms.hpp"
#include "analysis/predict/step_model/dp_terms.hpp"

namespace ddpprof::fit {

StepParameters StepModel::best_fit() const {
  const Models& models = job_.models();
  StepParameters parameters;
  if (!models.all_reduce.forms.empty()) {
    parameters.form = &models.all_reduce.picked();
    parameters.link = parameters.form->solution.values;
  }
  parameters.compute = job_.compute().solution.values;
  parameters.copies = models.copies.solution.values;
  return parameters;
}

Terms StepModel::terms(const StepCase& at, const StepParameters& parameters) const {
  const StepParameters* const one[] = {&parameters};
  if (runs_at_once(at)) return ddp_terms_at_once(at, one).front();
  return at.ddp ? ddp_terms(at, parameters) : dp_terms(at, parameters);
}

std::vector<Terms> StepModel::terms(const StepCase& at, std::span<const StepParameters* const> all_parameters) const {
  if (runs_at_once(at)) return ddp_terms_at_once(at, all_parameters);
  std::vector<Terms> all;
  all.reserve(all_parameters.size());
  for (const StepParameters* parameters : all_parameters) all.push_back(terms(at, *parameters));
  return all;
}

}  // namespace ddpprof::fit
