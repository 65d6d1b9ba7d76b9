#include "analysis/report/report.hpp"
#include "analysis/report/answer/answer.hpp"
#include "analysis/report/answer/step_plot.hpp"
#include "analysis/report/tables/collectives/collectives.hpp"
#include "analysis/report/tables/devices/devices.hpp"
#include "analysis/report/tables/learning_rate/gradient_noise_table.hpp"
#include "analysis/report/tables/learning_rate/stored_rates.hpp"
#include "analysis/report/tables/models/outlook_tables.hpp"
#include "analysis/report/tables/models/stored_models.hpp"
#include "analysis/report/tables/ranks/skew.hpp"
#include "analysis/report/tables/run/run.hpp"
#include "analysis/report/tables/sharding/sharding.hpp"
#include "analysis/report/tables/steps/steps.hpp"

#include <SQLiteCpp/Exception.h>

#include <algorithm>
#include <initializer_list>
#include <stdexcept>

#include "tracer/store/database.hpp"

namespace ddpprof::report {
namespace {

using Maker = Table (*)(const Source&);
inline constexpr Maker callers_tables = nullptr;        // ScenarioTables::plans
Table strong_predictions(const Source&) { return {}; }  // stands for ScenarioTables::strong
struct Part {
  Part(Maker maker, const char* below = "") : make(maker), section(below) {}
  Maker make;
  const char* section;
};
struct Recipe {
  ReportInfo info;
  const char* title;
  std::vector<Part> parts;
  bool skip_empty = false;  // leave out tables without rows
  const char* note = "";
};

Table outlook_table(const Source& source, std::string_view name) {
  const Table* table = outlook_of(source, name);
  return table ? *table : Table{};
}
Table helps_table(const Source& source) { return outlook_table(source, "what_helps"); }
Table dedicated_table(const Source& source) { return outlook_table(source, "dedicated_predictions"); }
Table choice_table(const Source& source) { return outlook_table(source, "rate_choice"); }

// Leaves out the parts in seconds, because their shares are shown.
Table brief_predictions(const Source& source) {
  Table table = predictions_table(source);
  for (std::size_t i = table.columns.size(); i-- > 0;) {
    const std::string& name = table.columns[i].name;
    if (name.ends_with("_s") && !name.starts_with("step_") && !name.ends_with("per_s")) erase_column(table, i);
  }
  return table;
}

// For long traces only the window of the whole trace; the report `overlap` has all steps.
Table brief_device_times(const Source& source) {
  constexpr std::size_t most_rows = 40;
  Table table = device_time_table(source);
  if (table.rows.size() <= most_rows) return table;
  std::erase_if(table.rows, [](const Row& row) {
    const auto* name = std::get_if<std::string>(&row[window_name_column]);
    return !name || *name != "all";
  });
  table.note += " Each annotated step: --report overlap.";
  return table;
}

bool has_any(const Recipe& recipe, std::initializer_list<Maker> makers) {
  return std::ranges::any_of(recipe.parts,
                             [&](const Part& part) { return std::ranges::find(makers, part.make) != makers.end(); });
}

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = {
      {{answer_report, "the answer on one screen: the answer in words, the steps, the main warnings"},
       "Answer",
       {answer_table},
       true,
       "More: ddpprof report FILE.db --full; one subject: --report NAME (ddpprof help report)."},
      {{"summary", "the answer in words, what was run, how it scales, predictions"},
       "Summary",
       {answer_table, run_table, notices_table, step_table, time_table, strong_table, fit_table, brief_predictions,
        strong_predictions, dedicated_table, helps_table, knee_table, next_measurements_table, learning_rate_table,
        choice_table, straggler_table, comm_table},
       true},
      {{"steps", "every step of every measurement"}, "Steps", {steps_table}},
      {{"phases", "time of a step by phase"}, "Phases", {time_table, phases_table}},
      {{"collectives", "each gradient bucket's all-reduce, and the other collectives"},
       "Collectives",
       {collectives_table, process_groups_table, pipeline_stages_table}},
      {{"overlap", "communication hidden behind compute, and exposed"},
       "Overlap",
       {overlap_table, device_time_table},
       true},
      {{"skew", "ranks compared with each other, stragglers, which rank starts collectives last, and the clocks"},
       "Skew",
       {skew_table, straggler_table, last_starters_table, clocks_table}},
      {{"sharding", "each unit of a sharded training (FSDP): bytes, memory, compute, exposed communication"},
       "Sharding",
       {sharded_training_table, sharded_units_table, sharded_times_table}},
      {{"kernels", "what the devices of an imported trace ran, by name"}, "Kernels", {kernels_table}},
      {{"efficiency", "weak and strong scaling"}, "Scaling efficiency", {weak_table, strong_table, strong_predictions}},
      {{"fit", "the fitted models: usable or not, parameters, residuals"},
       "Fitted models",
       {fit_table, fit_parameters_table, fit_residuals_table}},
      {{"predictions",
        "predicted step, throughput and efficiency of N workers, and the N from which communication dominates"},
       "Predictions",
       {predictions_table, strong_predictions, knee_table}},
      {{"learning-rate",
        "learning rate, warm-up and schedules for each N, how long the training takes; the gradient's noise scale and "
        "the rates as trained, where they were recorded"},
       "Learning rate",
       {learning_rate_table, warmup_table, gradient_noise_table, callers_tables}},
      {{"comm", "all-reduce sizes sweep, in nccl-tests' columns"}, "Communication benchmark", {comm_table}},
      {{"conditions", "conditions of the machine during the measurement, and how stable the steps were"},
       "Conditions",
       {conditions_table, stability_table}},
      {{"memory", "memory that a training used on each device"}, "Memory", {memory_table}},
      {{"diagnostics", "all warnings, errors and lost data, and the versions"},
       "Diagnostics",
       {diagnostics_table, versions_table}},
      {{"imported", "of an imported trace: the answer in words, who took part, devices, steps, predictions"},
       "Imported",
       {answer_table, run_table, notices_table, step_table, time_table, brief_device_times, brief_predictions,
        dedicated_table, helps_table, knee_table, next_measurements_table, choice_table, straggler_table},
       true},
      {{"all", "all of these in one report, without the single steps"},
       "Report",
       {answer_table,
        {run_table, "The run"},
        {notices_table, "The run"},
        {step_table, "Scaling"},
        {weak_table, "Scaling"},
        {strong_table, "Scaling"},
        {predictions_table, "Scaling"},
        {strong_predictions, "Scaling"},
        {dedicated_table, "Scaling"},
        {helps_table, "Scaling"},
        {knee_table, "Scaling"},
        {next_measurements_table, "Scaling"},
        {time_table, "Inside a step"},
        {phases_table, "Inside a step"},
        {overlap_table, "Inside a step"},
        {device_time_table, "Inside a step"},
        {kernels_table, "Inside a step"},
        {collectives_table, "Inside a step"},
        {pipeline_stages_table, "Inside a step"},
        {sharded_training_table, "Inside a step"},
        {sharded_units_table, "Inside a step"},
        {sharded_times_table, "Inside a step"},
        {skew_table, "Ranks"},
        {straggler_table, "Ranks"},
        {last_starters_table, "Ranks"},
        {clocks_table, "Ranks"},
        {comm_table, "Models"},
        {fit_table, "Models"},
        {fit_parameters_table, "Models"},
        {fit_residuals_table, "Models"},
        {learning_rate_table, "Learning rate"},
        {choice_table, "Learning rate"},
        {warmup_table, "Learning rate"},
        {gradient_noise_table, "Learning rate"},
        {callers_tables, "Learning rate"},
        {conditions_table, "The machine"},
        {stability_table, "The machine"},
        {memory_table, "The machine"},
        {diagnostics_table, "Diagnostics"},
        {versions_table, "Diagnostics"}},
       true,
       "This report does not contain the single steps (see ddpprof report FILE.db --report steps) or tables without "
       "rows."},
  };
  return all;
}

}  // namespace

std::vector<ReportInfo> report_names() {
  std::vector<ReportInfo> names;
  for (const Recipe& recipe : recipes()) names.push_back(recipe.info);
  return names;
}

Report build_report(store::Database& database, std::string_view name, metrics::OverlapRule rule,
                    const ScenarioTables& of_the_scenario) {
  const auto& all = recipes();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Recipe& r) { return r.info.name == name; });
  if (found == all.end()) {
    std::string known;
    for (const Recipe& recipe : all) known += (known.empty() ? "" : ", ") + std::string(recipe.info.name);
    throw std::invalid_argument("unknown report '" + std::string(name) + "' (expected one of " + known + ")");
  }
  try {
    Source source{database.sql(), metrics::read_configurations(database.sql())};
    Report report{std::string(name), found->title, {}, found->note};
    if (rule != metrics::OverlapRule::intersection) {
      report.tables.push_back(rule == metrics::OverlapRule::hta ? hta_table(source) : tensorboard_table(source));
      return report;
    }
    if (has_any(*found, {answer_table, learning_rate_table, warmup_table}) && of_the_scenario.rates)
      source.rates = of_the_scenario.rates();
    if (has_any(*found, {answer_table, helps_table, dedicated_table, choice_table}) && of_the_scenario.outlook)
      source.outlook = of_the_scenario.outlook();
    if (name == answer_report) {
      const Table warnings = main_warnings_table(source, SIZE_MAX);
      report.tables = one_screen(source, warnings, answer_lines - 2);
      if (!warnings.rows.empty() &&
          std::ranges::find(report.tables, warnings.name, &Table::name) == report.tables.end())
        report.note = "Warnings: " + std::to_string(warnings.rows.size()) +
                      " (--report diagnostics). More: ddpprof report FILE.db --full; one subject: --report NAME.";
      return report;
    }
    const auto add = [&](Table table, const Part& part) {
      table.section = part.section;
      if (!found->skip_empty || !table.rows.empty()) report.tables.push_back(std::move(table));
    };
    for (const Part& part : found->parts) {
      const bool strong = part.make == strong_predictions;
      if (!strong && part.make != callers_tables) {
        add(part.make(source), part);
      } else if (const auto& tables = strong ? of_the_scenario.strong : of_the_scenario.plans) {
        for (Table& table : tables()) add(std::move(table), part);
      }
    }
    if (report.tables.empty())
      report.tables.push_back(found->parts.front().make(source));  // its text says why it is empty
    return report;
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

std::string plot_steps(store::Database& database, int width) {
  try {
    return step_plot(glance_steps(Source{database.sql(), metrics::read_configurations(database.sql())}), width);
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

Table notices(store::Database& database, const std::vector<metrics::Configuration>& configurations) {
  try {
    return notices_table(Source{database.sql(), configurations});
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

Table main_warnings(store::Database& database, const std::vector<metrics::Configuration>& configurations,
                    std::size_t most) {
  try {
    return main_warnings_table(Source{database.sql(), configurations}, most);
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

std::string profiler_note(store::Database& database) {
  try {
    return profiler_text(database.sql());
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

}  // namespace ddpprof::report
