#include "analysis/report/tables/learning_rate/rate_choice.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "analysis/metrics/recorded_training.hpp"
#include "analysis/report/core/columns.hpp"
#include "simulator/learning_rate/large_batch.hpp"
#include "simulator/learning_rate/rules.hpp"

namespace ddpprof::report {
namespace {

using learning_rate::Rule;
using metrics::OptimizerFamily;

bool is_usual(Rule rule) { return rule == Rule::linear || rule == Rule::square_root; }

// A rule's factor and rate at one N; unknown if the rule refuses this N.
struct Scaled {
  Cell factor, rate;
  std::string refused;
};

Scaled scaled(const RateChoice& choice, Rule rule, std::int64_t workers) {
  learning_rate::Plan plan = fit::plan_of(choice.options, workers);
  plan.adaptive_optimizer = choice.adaptive.value_or(false);
  if (!choice.base_known) plan.base_lr = 1.0;
  if (const auto why = learning_rate::refusal(rule, plan)) return {{}, {}, *why};
  const learning_rate::Schedule schedule = learning_rate::schedule_of(rule, plan);
  return {schedule.target_lr / schedule.base_lr, choice.base_known ? Cell(schedule.target_lr) : Cell(), ""};
}

// The rating of the linear rule by the gradient noise scale, and the global batch from which the rule is red.
struct Rating {
  Cell light, limit;
};

Rating rating_of(const RateChoice& choice, Rule rule, std::int64_t batch) {
  using namespace learning_rate;
  if (!choice.noise_scale_samples || rule != Rule::linear || choice.adaptive.value_or(false)) return {};
  const double noise_scale = critical_batch(*choice.noise_scale_samples).mid;
  const auto base_batch = static_cast<double>(choice.options.base_batch());
  const double limit = batch_at_efficiency(noise_scale, base_batch, red_efficiency);
  Rating rating{std::string(to_string(linear_rule_light(noise_scale, base_batch, static_cast<double>(batch)))), Cell()};
  if (limit < most_counted) rating.limit = static_cast<std::int64_t>(std::ceil(limit));
  return rating;
}

}  // namespace

Rule rule_of(const RateChoice& choice) {
  const Rule named = choice.options.rule;
  if (choice.options.applied || !is_usual(named)) return named;
  switch (metrics::family_of(choice.optimizer)) {
    case OptimizerFamily::lamb:
      return Rule::lamb;
    case OptimizerFamily::lars:
      return Rule::lars;
    default:
      return choice.adaptive.value_or(false) ? Rule::square_root : Rule::linear;
  }
}

Table rate_choice_table(const RateChoice& choice) {
  Table table;
  table.name = "rate_choice";
  table.title = "Learning rate for this optimizer";
  const std::int64_t base_batch = choice.options.base_batch();
  table.note = fmt::format(
      "Factor: the rate at this N / the base rate. The base rate is the one tuned at a global batch of {} samples. "
      "Linear is the rule for SGD (Goyal et al. 2017), square root the rule for Adam and similar optimizers (Malladi "
      "et al. 2022) and, with rates for each layer, for LAMB (You et al. 2020).{}{}{}",
      base_batch,
      choice.base_known ? "" : " No base rate is recorded: ddpprof lr FILE.db --workers N --base LR gives the rates.",
      choice.adaptive ? std::string()
                      : fmt::format(" {}: the first rule is for SGD, the other for Adam (ddpprof lr --optimizer).",
                                    choice.optimizer.empty()
                                        ? "The optimizer is not recorded"
                                        : "The name " + choice.optimizer + " does not show the optimizer's rule"),
      choice.noise_scale_samples && !choice.adaptive.value_or(false)
          ? " Linear rule: its rating by the gradient noise scale, as in the table of larger batches; red: the rate is at "
            "least twice the rate that the batch allows."
          : "");
  table.empty = "No worker counts given. Give at least one, for example 8,16,64.";
  table.columns = {count("workers", "N", "workers"),
                   count("global_batch_samples", "global batch", "samples"),
                   text("optimizer", "optimizer"),
                   text("rule", "rule"),
                   digits(quantity("factor", "factor", "×"), 4),
                   digits(quantity("lr", "rate", ""), 4),
                   text("other_rule", "other rule"),
                   digits(quantity("other_factor", "factor", "×"), 4),
                   digits(quantity("other_lr", "rate", ""), 4),
                   count("base_batch_samples", "tuned at", "samples"),
                   text("linear_rule", "linear rule"),
                   count("red_batch_samples", "red from", "samples"),
                   prose("note", "note")};
  table.key_columns = 1;
  table.columns.back().hide_zero = true;
  if (!choice.adaptive && metrics::family_of(choice.optimizer) == OptimizerFamily::uncovered) {
    table.empty = "No rule covers " + choice.optimizer +
                  ": the linear rule is for SGD, the square-root rule for Adam. Search for the rate at this batch.";
    return table;
  }
  const Rule rule = rule_of(choice);
  const bool usual = is_usual(rule);
  const Rule other = rule == Rule::linear ? Rule::square_root : Rule::linear;
  for (const std::int64_t workers :
       std::set<std::int64_t>(choice.options.workers.begin(), choice.options.workers.end())) {
    const Scaled first = scaled(choice, rule, workers);
    const Scaled second = usual ? scaled(choice, other, workers) : Scaled{};
    const std::int64_t batch = learning_rate::global_batch(workers, choice.options.samples_per_worker);
    const Rating rating = rating_of(choice, rule, batch);
    table.rows.push_back({workers, batch,
                          choice.optimizer.empty() || !choice.adaptive ? Cell() : Cell(choice.optimizer),
                          learning_rate::to_string(rule), first.factor, first.rate,
                          usual ? Cell(learning_rate::to_string(other)) : Cell(), second.factor, second.rate,
                          base_batch, rating.light, rating.limit,
                          first.refused.empty() ? Cell() : Cell(first.refused)});
  }
  return table;
}

}  // namespace ddpprof::report
