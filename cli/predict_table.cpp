#include "cli/predict_table.hpp"

#include <algorithm>
#include <map>

#include "analysis/fit/predict.hpp"
#include "analysis/fit/table/step_csv.hpp"
#include "analysis/fit/table/step_table.hpp"
#include "analysis/fit/text.hpp"
#include "analysis/report/columns.hpp"
#include "cli/subcommand.hpp"
#include "simulator/scaling/efficiency.hpp"

namespace ddpprof::cli {
namespace {

using report::Cell;
using report::count;
using report::digits;
using report::prose;
using report::quantity;
using report::share;
using report::text;

report::Column seconds(const char* name, const std::string& title) {
  return digits(report::seconds(name, title, std::string(name) == "step_s" ? "" : "step_s"), 4);
}

std::int64_t usual_batch(const std::vector<fit::StepRow>& rows) {
  std::map<std::int64_t, std::int64_t> count;
  for (const fit::StepRow& row : rows) ++count[row.batch_per_worker];
  return std::max_element(count.begin(), count.end(), [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

std::int64_t usual_accumulation(const std::vector<fit::StepRow>& rows) {
  // Where the global batch is kept they halve as N doubles: the largest N is nearest to what is asked about.
  const auto largest = [](const fit::StepRow& a, const fit::StepRow& b) {
    return std::pair{a.workers, -a.accumulation} < std::pair{b.workers, -b.accumulation};
  };
  return std::max_element(rows.begin(), rows.end(), largest)->accumulation;
}

// What is asked about but the number of workers.
struct Kind {
  std::int64_t per_node, batch, accumulation;
};

fit::StepRow asked(std::int64_t workers, const Kind& kind) {
  const std::int64_t per_node = kind.per_node > 0 ? kind.per_node : workers;
  fit::StepRow row;
  row.workers = workers;
  row.nodes = (workers + per_node - 1) / per_node;
  row.batch_per_worker = kind.batch;
  row.accumulation = kind.accumulation;
  row.devices_per_node = std::min(workers, per_node);
  return row;
}

report::Table predictions(const fit::StepTable& table, const std::vector<fit::StepRow>& questions, double confidence,
                          std::int64_t largest) {
  const std::string level = fit::percent(confidence);
  report::Table made;
  made.name = "predictions";
  made.title = "Predictions";
  made.note =
      "From step times alone. The " + level +
      " interval is where one further measurement would fall. Compute: of one rank alone; skew: the slowest of N "
      "ranks; sharing: devices that share a node; exposed: communication that the backward does not hide. Beyond: "
      "N / largest measured N.";
  made.columns = {count("workers", "N", "workers"),
                  count("nodes", "nodes"),
                  count("batch_per_worker", "batch", "samples"),
                  count("accumulation", "accumulation", "micro-batches"),
                  seconds("step_s", "step"),
                  seconds("step_low_s", level + " low"),
                  seconds("step_high_s", level + " high"),
                  digits(quantity("throughput_samples_per_s", "throughput", "samples/s"), 4),
                  share("efficiency", "weak efficiency"),
                  seconds("compute_s", "compute"),
                  seconds("skew_s", "skew"),
                  seconds("sharing_s", "sharing"),
                  seconds("exposed_s", "exposed"),
                  text("bound", "bound"),
                  digits(quantity("extrapolation", "beyond", "×"), 3),
                  prose("note", "note")};
  made.columns.back().hide_zero = true;
  made.key_columns = 1;
  for (const fit::StepRow& question : questions) {
    const fit::TablePrediction prediction = table.predict(question);
    const double alone_s = table.predict(asked(1, {1, question.batch_per_worker, question.accumulation})).step_s;
    made.rows.push_back({question.workers, question.nodes, question.batch_per_worker, question.accumulation,
                         prediction.step_s, prediction.low_s, prediction.high_s,
                         static_cast<double>(question.workers) * static_cast<double>(question.batch_per_worker) *
                             static_cast<double>(question.accumulation) / prediction.step_s,
                         alone_s / prediction.step_s, prediction.compute_s, prediction.skew_s, prediction.sharing_s,
                         prediction.exposed_s, prediction.bound,
                         static_cast<double>(question.workers) / static_cast<double>(largest),
                         prediction.note.empty() ? Cell() : Cell(prediction.note)});
  }
  return made;
}

report::Table forms(const fit::StepTable& table) {
  report::Table made;
  made.name = "forms";
  made.title = "How communication grows with N";
  made.note =
      "Each form was fitted to the smaller N and judged on the larger ones; a prediction is their weighted mean.";
  made.columns = {prose("form", "form"), share("held_out_error", "held-out error"), share("weight", "weight")};
  made.key_columns = 1;
  for (const fit::TableForm& form : table.forms())
    made.rows.push_back({form.name, form.held_out_error > 0.0 ? Cell(form.held_out_error) : Cell(), form.weight});
  return made;
}

// The smallest N at which exposed communication exceeds each share of the step.
report::Table knees(const fit::StepTable& table, const Kind& kind, std::int64_t largest) {
  std::vector<scaling::ScalingPoint> points;
  for (std::int64_t workers = 2; workers <= largest; workers = workers < 64 ? workers + 1 : workers + workers / 16) {
    try {
      const fit::TablePrediction prediction = table.predict(asked(workers, kind));
      points.push_back({workers, prediction.step_s, prediction.exposed_s});
    } catch (const fit::NotSupported&) {
      break;  // nodes that nothing measured speaks of
    }
  }
  report::Table made;
  made.name = "knees";
  made.title = "Where communication begins to bind";
  made.note = "Every N up to 64 was looked at, beyond it steps of a sixteenth.";
  made.columns = {share("share", "exposed share of the step above"), count("workers", "from N", "workers")};
  for (const double above : scaling::knee_shares) {
    const auto found = scaling::knee(points, above);
    made.rows.push_back({above, found ? Cell(*found) : Cell()});
  }
  return made;
}

}  // namespace

report::Report predict_from_table(const std::string& path, const TableQuestion& question) {
  try {
    const std::vector<fit::StepRow> rows = fit::read_step_csv(path);
    if (rows.empty()) throw Failure(ExitCode::data, path + " has no row", "one row a measurement");
    std::int64_t per_node = 1, largest = 1;
    for (const fit::StepRow& row : rows) {
      per_node = std::max(per_node, row.devices());
      largest = std::max(largest, row.workers);
    }
    per_node = question.gpus_per_node.value_or(per_node);
    const Kind kind{per_node, question.batch_per_worker.value_or(usual_batch(rows)),
                    question.accumulation.value_or(usual_accumulation(rows))};
    std::vector<fit::StepRow> questions;
    for (const std::int64_t workers : question.workers) questions.push_back(asked(workers, kind));
    fit::TableOptions options;
    options.confidence = question.confidence;
    // Twenty draws beyond each end of the interval.
    options.draws = static_cast<int>(std::clamp(40.0 / (1.0 - question.confidence), 400.0, 40000.0));
    const fit::StepTable table(rows, options);
    const std::int64_t far = *std::max_element(question.workers.begin(), question.workers.end());
    report::Report made{"predict", "Predictions", {}};
    made.tables = {predictions(table, questions, question.confidence, largest), knees(table, kind, far), forms(table)};
    return made;
  } catch (const std::invalid_argument& error) {
    throw Failure(ExitCode::usage, error.what());
  } catch (const fit::CsvError& error) {
    throw Failure(ExitCode::usage, error.what());
  } catch (const fit::NotSupported& error) {
    throw Failure(ExitCode::data, error.reason(), "", error.advice());
  }
}

}  // namespace ddpprof::cli
