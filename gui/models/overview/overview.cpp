#include "gui/models/overview/overview.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/predict/predictor.hpp"
#include "analysis/predict/standard_changes.hpp"
#include "analysis/report/tables/models/outlook_tables.hpp"
#include "analysis/report/tables/models/what_if_tables.hpp"
#include "runner/scenario_queries/report.hpp"
#include "simulator/units/units.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::gui {
namespace {

using report::Row;
using report::Table;
using report::value_of;

constexpr double least_gain = 1.02;  // speedup below which a change is not named, as in the report
constexpr std::size_t most_changes = 3, most_warnings = 3;
constexpr double widest_figure = 3.0;  // high / low above which only the interval is shown, as in the report

const Table* table_of(const report::Report& report, std::string_view name) {
  const auto found = std::ranges::find(report.tables, name, &Table::name);
  return found == report.tables.end() ? nullptr : &*found;
}

std::string text_of(const Table& table, const Row& row, std::string_view column) {
  return value_of<std::string>(table, row, column).value_or("");
}

std::string seconds(double value_s) { return units::format_quantity(value_s, "s"); }
std::string percent(double share) { return units::percent(share, 3); }

// The row of the largest measured N of the first strategy, or nullptr.
const Row* measured_row(const Table& glance) {
  const Row* found = nullptr;
  for (const Row& row : glance.rows) {
    if (text_of(glance, row, "strategy") != text_of(glance, glance.rows.front(), "strategy")) break;
    if (text_of(glance, row, "source") == "measured") found = &row;
  }
  return found;
}

// The row of the table `step` for a measured row of `glance`, or nullptr.
const Row* step_row(const Table* steps, const Table& glance, const Row& row) {
  if (steps == nullptr) return nullptr;
  const auto found = std::ranges::find_if(steps->rows, [&](const Row& one) {
    return text_of(*steps, one, "strategy") == text_of(glance, row, "strategy") &&
           value_of<std::int64_t>(*steps, one, "workers") == value_of<std::int64_t>(glance, row, "workers") &&
           value_of<double>(*steps, one, "step_median_s") == value_of<double>(glance, row, "step_s");
  });
  return found == steps->rows.end() ? nullptr : &*found;
}

std::string step_detail(const report::Report& full, const Table& glance, const Row& row) {
  const std::string bounds = fmt::format("{} to {}", seconds(value_of<double>(glance, row, "low_s").value_or(0.0)),
                                         seconds(value_of<double>(glance, row, "high_s").value_or(0.0)));
  const Table* steps = table_of(full, "step");
  const Row* one = step_row(steps, glance, row);
  if (one == nullptr) return bounds;
  const std::int64_t count = value_of<std::int64_t>(*steps, *one, "steps").value_or(0);
  if (text_of(*steps, *one, "step_bounds").empty())
    return fmt::format("median of {} steps; {:.3g} %: {}", count,
                       100.0 * value_of<double>(*steps, *one, "step_confidence").value_or(0.0), bounds);
  return count == 1 ? std::string("1 step") : fmt::format("median; range of {} steps: {}", count, bounds);
}

KeyFigure exposed_figure(const report::Report& full, const Table& glance, const Row& row) {
  constexpr const char* title = "Exposed communication";
  if (value_of<std::int64_t>(glance, row, "workers") == 1)
    return {title, "none", "one worker exchanges nothing", "Ranks"};
  const auto transfer = value_of<double>(glance, row, "transfer_share"),
             skew = value_of<double>(glance, row, "skew_share");
  if (transfer && skew)
    return {title, percent(*transfer + *skew),
            fmt::format("of the step: {} transfer{}", percent(*transfer),
                        *skew >= 1e-3 ? ", " + percent(*skew) + " waiting for slower ranks" : ""),
            "Ranks"};
  // This N is not predicted: its parts are not in `glance`.
  const Table* steps = table_of(full, "step");
  const Row* one = step_row(steps, glance, row);
  const auto exposed = one == nullptr ? std::nullopt : value_of<double>(*steps, *one, "communication_overhead");
  if (!exposed) return {title, "not known", "the parts of the step were not recorded", "Ranks"};
  return {title, percent(*exposed), "of the step, with waiting for slower ranks", "Ranks"};
}

std::string gain_text(const Table& table, const Row& row) {
  const auto value = [&](const char* column) { return value_of<double>(table, row, column).value_or(1.0); };
  const auto number = [&](const char* column) { return units::format_significant(value(column), 3); };
  if (value("speedup_high") > widest_figure * value("speedup_low"))
    return fmt::format("{} to {} × the throughput", number("speedup_low"), number("speedup_high"));
  return fmt::format("{} × the throughput ({} to {})", number("speedup"), number("speedup_low"),
                     number("speedup_high"));
}

// The rows of the table are in the order of the page Scaling: by gain, with uncertain gains among them.
void add_changes(const report::Report& full, const std::string& strategy, Overview& into) {
  const Table* helps = table_of(full, "what_helps");
  if (helps == nullptr) return;
  for (const Row& row : helps->rows) {
    if (text_of(*helps, row, "strategy") != strategy) continue;
    into.changes_workers = value_of<std::int64_t>(*helps, row, "workers").value_or(0);
    if (into.changes.size() == most_changes || value_of<double>(*helps, row, "speedup").value_or(0.0) < least_gain)
      continue;
    const std::string change = text_of(*helps, row, "change");
    into.changes.push_back({change, gain_text(*helps, row), std::string(fit::change_requires(change)),
                            value_of<double>(*helps, row, "speedup_low").value_or(0.0) >= 1.0});
  }
}

// The figures that need the parts of the step.
void add_parts(const report::Report& full, const Table& glance, const Row& row, bool on_gpus, Overview& into) {
  const auto share = [&](const char* column) { return value_of<double>(glance, row, column); };
  const auto compute = share("compute_share"), transfer = share("transfer_share"), skew = share("skew_share"),
             host = share("host_share");
  into.figures.push_back(exposed_figure(full, glance, row));
  if (!compute || !transfer || !skew || !host) return;
  into.step = {{StepPart::compute, "compute", *compute},
               {StepPart::transfer, "exposed transfer", *transfer},
               {StepPart::waiting, "waiting for slower ranks", *skew},
               {StepPart::launches, "waiting for the host's launches", *host},
               {StepPart::other, "input and other", std::max(0.0, 1.0 - *compute - *transfer - *skew - *host)}};
  std::erase_if(into.step, [](const StepShare& one) { return one.share < 5e-4; });
  if (on_gpus)
    into.figures.push_back({"Device busy", percent(*compute + *transfer + *skew),
                            fmt::format("of the step: {} compute, {} communication alone; {} waiting for launches",
                                        percent(*compute), percent(*transfer + *skew), percent(*host)),
                            "Timeline"});
  else
    into.figures.push_back({"Computing", percent(*compute), "of the step, including hidden communication", "Timeline"});
}

}  // namespace

Overview make_overview(const report::Report& answer, const report::Report& full,
                       const std::vector<metrics::Configuration>& configurations) {
  Overview made;
  if (const Table* words = table_of(answer, "answer")) {
    if (words->rows.empty()) made.why_no_step = words->empty;
    for (const Row& row : words->rows) {
      const std::string about = text_of(*words, row, "about"), text = text_of(*words, row, "answer");
      if (about.ends_with("predicted") || about.ends_with("scaling") || about == "measure next")
        made.sentences.emplace_back(about, text);
      if (about == "learning rate") made.why_no_rate = text;
    }
  }
  if (const Table* rates = table_of(full, "rate_choice")) made.rates = *rates;
  const Table* glance = table_of(answer, "at_a_glance");
  const Row* row = glance == nullptr ? nullptr : measured_row(*glance);
  if (row == nullptr) return made;
  const std::string strategy = text_of(*glance, *row, "strategy");
  const std::int64_t workers = value_of<std::int64_t>(*glance, *row, "workers").value_or(1);
  made.job = fmt::format("{} at N = {}", strategy, workers);
  bool on_gpus = false;
  for (const metrics::Configuration& one : configurations) {
    if (one.strategy != strategy || one.world_size != workers || one.measured.empty()) continue;
    on_gpus = one.device == "cuda";
    for (const std::string& fact : {one.model, one.backend, one.device})
      if (!fact.empty() && fact != "unknown") made.job += ", " + fact;
    break;
  }
  made.figures.push_back({"Step time", seconds(value_of<double>(*glance, *row, "step_s").value_or(0.0)),
                          step_detail(full, *glance, *row), "Timeline"});
  add_parts(full, *glance, *row, on_gpus, made);
  const std::string bound = text_of(*glance, *row, "bound");
  std::string meaning(report::term_meaning(bound));
  if (bound == fit::to_string(fit::Term::host)) meaning += fmt::format(". Usual remedies: {}", fit::host_remedies);
  made.figures.push_back({"What binds", bound.empty() ? "not known" : bound,
                          bound.empty() ? "this N is not predicted" : meaning, "Scaling"});
  add_changes(full, strategy, made);
  return made;
}

namespace {

Overview overview_of(const OpenedFile& file, store::Database& database, const fit::PredictOptions* options) {
  const bool imported =
      !file.configurations.empty() &&
      std::ranges::all_of(file.configurations, [](const metrics::Configuration& c) { return c.kind == "import"; });
  const auto built = [&](std::string_view name) {
    return scenario_queries::build_report(database, name, metrics::OverlapRule::intersection, options);
  };
  Overview made = make_overview(built(report::answer_report), built(imported ? "imported" : "summary"),
                                file.configurations);
  made.notices = report::notices(database, file.configurations);
  // Not those of the answer: it leaves out warnings until it has the lines of one screen.
  const Table warnings = report::main_warnings(database, file.configurations, most_warnings);
  for (const Row& row : warnings.rows)
    made.warnings.emplace_back(text_of(warnings, row, "about"), text_of(warnings, row, "message"));
  return made;
}

// The N of the file's predictions and measurements up to the chosen N, and the chosen N itself.
std::vector<std::int64_t> counts_up_to(const OpenedFile& file, store::Database& database, std::int64_t chosen) {
  std::set<std::int64_t> counts;
  for (const auto& [strategy, predicted] : report::predicted_workers(database))
    counts.insert(predicted.begin(), predicted.end());
  for (const char* strategy : {"ddp", "dp"})
    for (const std::int64_t workers : file.workers(strategy)) counts.insert(workers);
  counts.erase(counts.upper_bound(chosen), counts.end());
  counts.insert(chosen);
  return {counts.begin(), counts.end()};
}

}  // namespace

Overview read_overview(const OpenedFile& file) {
  file.check_unchanged();
  store::Database database = store::Database::open_read(file.path);
  return overview_of(file, database, nullptr);
}

Overview read_overview(const OpenedFile& file, const PredictionChoice& choice) {
  file.check_unchanged();
  store::Database database = store::Database::open_read(file.path);
  fit::PredictOptions options = choice.options;
  options.workers = counts_up_to(file, database, choice.workers);
  options.all_reduce = all_reduces_of(file.logs);
  scenario_queries::replace_predictions(database, options);
  return overview_of(file, database, &options);
}

Overview with_choice(Overview of_file, const Overview& chosen) {
  of_file.changes_workers = chosen.changes_workers;
  of_file.changes = chosen.changes;
  of_file.sentences = chosen.sentences;
  of_file.warnings = chosen.warnings;
  of_file.notices = chosen.notices;
  return of_file;
}

std::string rate_text(const Table& rates, std::size_t index) {
  const Row& row = rates.rows.at(index);
  const auto rate = [&](const char* value, const char* factor) -> std::string {
    if (const auto known = value_of<double>(rates, row, value)) return fmt::format("{:.4g}", *known);
    if (const auto known = value_of<double>(rates, row, factor)) return fmt::format("{:.4g} × the tuned rate", *known);
    return "";
  };
  const std::string chosen = rate("lr", "factor"), other = rate("other_lr", "other_factor");
  const std::string optimizer = text_of(rates, row, "optimizer"), note = text_of(rates, row, "note");
  std::string text = fmt::format("{} ({} rule{})", chosen.empty() ? "none" : chosen, text_of(rates, row, "rule"),
                                 optimizer.empty() ? "" : " for " + optimizer);
  if (chosen.empty() && !note.empty()) text += ": " + note;
  if (!other.empty()) text += fmt::format("; {} rule: {}", text_of(rates, row, "other_rule"), other);
  text += fmt::format(". Global batch {}.", value_of<std::int64_t>(rates, row, "global_batch_samples").value_or(0));
  if (text_of(rates, row, "linear_rule") == "red")
    text += fmt::format(" By the gradient noise scale this rate is too high from a global batch of {} on.",
                        value_of<std::int64_t>(rates, row, "red_batch_samples").value_or(0));
  return text;
}

}  // namespace ddpprof::gui
