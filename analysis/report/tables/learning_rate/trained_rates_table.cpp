#include <fmt/format.h>
#include <cmath>

#include "analysis/report/core/columns.hpp"
#include "analysis/report/tables/learning_rate/trained_rates_table.hpp"

namespace ddpprof::report {

Table trained_rates_table(const std::vector<metrics::TrainedRates>& all, const std::string& plan) {
  Table table;
  table.name = "trained_rates";
  table.title = "Learning rate as trained";
  table.note = fmt::format(
      "The rate that the optimizer used, as recorded in the trace, compared with the scenario's plan: {}. Unlike: "
      "steps whose rate is not exactly the planned rate. Not checked: steps whose planned rate cannot be derived from "
      "the trace (AdaScale: all steps from a missing norm on). Worth: number of steps at the base batch that these "
      "steps replace, by AdaScale's gains.",
      plan);
  table.empty =
      "This file has no recorded rates: it was recorded by an earlier version, without a trace, or by another program.";
  table.columns = {text("strategy", "strategy", true),
                   count("workers", "N", "workers"),
                   count("repeat", "repeat"),
                   count("first_step", "from step", "steps"),
                   count("steps", "steps", "steps"),
                   digits(quantity("first_lr", "first", ""), 4),
                   digits(quantity("last_lr", "last", ""), 4),
                   digits(quantity("last_planned_lr", "last, planned", ""), 4),
                   count("unlike_steps", "unlike", "steps"),
                   share("largest_difference", "largest difference"),
                   count("unchecked_steps", "not checked", "steps"),
                   digits(quantity("base_steps", "worth", "steps"), 6)};
  table.columns[2].hide_constant = true;
  table.columns[10].hide_zero = table.columns[11].hide_zero = true;
  table.key_columns = 3;
  for (const metrics::TrainedRates& rates : all)
    table.rows.push_back({rates.strategy, rates.workers, rates.repeat, rates.first_step, rates.steps, rates.first_lr,
                          rates.last_lr, known(rates.last_planned_lr), rates.unlike,
                          std::isfinite(rates.largest_difference) ? Cell(rates.largest_difference) : Cell(),
                          rates.unchecked, known(rates.base_steps)});
  return table;
}

}  // namespace ddpprof::report
