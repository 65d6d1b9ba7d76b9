// Learns the constants of predictions from step tables (analysis/fit/table/learned.hpp).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analysis/fit/table/placement_model.hpp"
#include "analysis/fit/table/step_row.hpp"
#include "tests/validation/step_tables/tables.hpp"

namespace ddpprof::validation {

// A question whose answer was measured: the first rows of a series, and a later row.
struct Example {
  const Series* series = nullptr;
  std::string family;  // of the split that is judged: the model's architecture, or the source
  std::vector<fit::StepRow> given;
  fit::StepRow asked;
  fit::GrowthQuestion question;
  double growth = 0.0;   // ln(measured step / base of the question)
  double weight = 1.0;   // a series has a weight of 1 in all
  bool largest = false;  // the largest number of ranks, from all smaller ones
};

// `family_of` decides what is left out together.
std::vector<Example> examples_of(const std::vector<Series>&,
                                 const std::function<std::string(const Series&)>& family_of);

// Questions about fewer ranks than were given, and about ranks between given ones.
std::vector<Example> inner_examples_of(const std::vector<Series>&,
                                       const std::function<std::string(const Series&)>& family_of);

// The sources weigh by the square root of their number of series, so that none decides alone. The spread is that of
// examples whose family was left out.
fit::GrowthConstants learn_growth(const std::vector<Example>&);

using PolluxRows = std::map<std::string, std::vector<fit::StepRow>>;  // by model
using PlacementFits = std::map<std::string, fit::PlacementModel::Fitted>;

// Fits to all rows of each model. Takes seconds.
PlacementFits placement_fits(const PolluxRows&);
// The priors that the models give without one of them (or without "", none of them), with a drift that is not learned.
fit::PlacementConstants placement_priors(const PlacementFits&, const std::string& left_out);
// The same with the smallest drift that covers models which were left out. Takes half a minute.
fit::PlacementConstants learn_placement(const PolluxRows&, const PlacementFits&, const std::string& left_out);

}  // namespace ddpprof::validation
