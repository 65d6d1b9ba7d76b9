// The learning rate that the rule for the job's optimizer gives at each N, and what the other usual rule gives.
#pragma once

#include <optional>
#include <string>

#include "analysis/predict/learning_rate.hpp"
#include "analysis/report/core/table.hpp"
#include "simulator/stats/interval.hpp"

namespace ddpprof::report {

struct RateChoice {
  fit::LearningRateOptions options;  // with the rule that the scenario names
  bool base_known = true;            // false: only factors are shown
  std::string optimizer;             // "AdamW"; empty: not recorded
  std::optional<bool> adaptive;      // the optimizer scales the rate of each parameter; empty: unknown
  std::optional<stats::Interval> noise_scale_samples = {};  // of the gradient, in samples; empty: not measured
};

// Returns the rule for the optimizer: linear for SGD, LARS and LAMB for theirs, square root for other adaptive
// optimizers (simulator/learning_rate). A rule that the training applied, or that is neither linear nor square root,
// stays.
learning_rate::Rule rule_of(const RateChoice&);

// One row for each of the options' N; none if no rule covers the optimizer (metrics::OptimizerFamily::uncovered), with
// the reason in Table::empty. Factor: target rate / base rate. With a noise scale, the linear rule for SGD has a rating
// and the largest global batch that is not red (learning_rate::linear_rule_light). Throws std::invalid_argument if the
// options are invalid.
Table rate_choice_table(const RateChoice&);

}  // namespace ddpprof::report
