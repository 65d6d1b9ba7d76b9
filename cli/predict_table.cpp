#include "cli/predict_table.hpp"

#include <algorithm>

#include "analysis/fit/text.hpp"
#include "analysis/predict/predict.hpp"
#include "analysis/predict/tables/step_table_prediction.hpp"
#include "analysis/report/core/columns.hpp"
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

report::Table predictions(const fit::StepTable& table, const std::vector<fit::StepRow>& questions, double confidence,
                          std::int64_t largest, std::int64_t global_batch) {
  const std::string level = fit::percent(confidence);
  report::Table made;
  made.name = "predictions";
  made.title = "Predictions";
  made.note =
      "From step times only. " + table.method() + " One further measurement falls into the " + level +
      " interval. compute: one rank alone. skew: wait for the slowest of N ranks. sharing: cost of devices that share "
      "a node. exposed: communication that the backward does not hide. beyond: N / largest measured N.";
  if (global_batch > 0)
    made.note += " The global batch of the largest measured N is kept: " + std::to_string(global_batch) +
                 " samples. Another batch: --batch-per-worker.";
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
    const double alone_s =
        table.predict(fit::TableQuestion{1, question.batch_per_worker, question.accumulation}.of(1)).step_s;
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

// The smallest N at which exposed communication exceeds each share of the step.
report::Table knees(const std::vector<scaling::ScalingPoint>& points) {
  report::Table made;
  made.name = "knees";
  made.title = "From which N the job is communication-bound";
  made.note =
      "The smallest evaluated N. Every N up to 64 is evaluated; above 64, N grows by 1/16 per step, so a smaller N "
      "between two steps is possible.";
  made.columns = {share("share", "exposed share of the step above"), count("workers", "from N", "workers")};
  for (const double above : scaling::knee_shares) {
    const auto found = scaling::knee(points, above);
    made.rows.push_back({above, found ? Cell(*found) : Cell()});
  }
  return made;
}

}  // namespace

report::Report predict_from_table(const std::vector<fit::StepRow>& rows, const TableRequest& request) {
  try {
    fit::TableQuestion question = fit::usual_question(rows);
    question.per_node = request.gpus_per_node.value_or(question.per_node);
    question.batch_per_worker = request.batch_per_worker.value_or(question.batch_per_worker);
    if (request.batch_per_worker) question.global_batch = 0;
    question.accumulation = request.accumulation.value_or(question.accumulation);
    std::vector<fit::StepRow> questions;
    for (const std::int64_t workers : request.workers) questions.push_back(question.of(workers));
    const fit::StepTable table(rows, fit::table_options(request.confidence));
    const std::int64_t far = *std::max_element(request.workers.begin(), request.workers.end());
    report::Report made{"predict", "Predictions", {}};
    made.tables = {predictions(table, questions, request.confidence, fit::largest_workers(rows), question.global_batch),
                   knees(fit::scaling_points(table, question, far))};
    return made;
  } catch (const std::invalid_argument& error) {
    throw Failure(ExitCode::usage, error.what());
  } catch (const fit::NotSupported& error) {
    throw Failure(ExitCode::data, error.reason(), "", error.advice());
  }
}

}  // namespace ddpprof::cli
