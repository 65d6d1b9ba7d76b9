#include "cli/predict_table.hpp"

#include <algorithm>
#include <iterator>

#include "analysis/fit/fit_summary.hpp"
#include "analysis/fit/text.hpp"
#include "analysis/predict/predict.hpp"
#include "analysis/predict/tables/step_table_prediction.hpp"
#include "analysis/report/core/columns.hpp"
#include "analysis/report/tables/models/model_tables.hpp"
#include "cli/subcommand.hpp"
#include "simulator/scaling/knee.hpp"

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

// The question about the rows of one strategy, and their fit.
struct Answer {
  fit::TableQuestion question;
  std::int64_t largest = 1;  // measured N
  fit::StepTable table;
};

std::string note_on(const std::vector<Answer>& answers, const std::string& level) {
  std::string note = "From step times only. ";
  for (const Answer& one : answers) {
    const std::string& strategy = one.question.strategy;
    if (answers.size() > 1) note += strategy + ": ";
    note += one.table.method() + " ";
    if (strategy != "ddp" && one.table.placement_model() == nullptr)
      note += "The growth was learned from data-parallel tables; the few published tables of sharded jobs agree. ";
    if (one.question.global_batch > 0)
      note += "The global batch of the largest measured N is kept: " + std::to_string(one.question.global_batch) +
              " samples, and the efficiency is the strong efficiency. Another batch: --batch-per-worker. ";
  }
  const bool series =
      std::ranges::any_of(answers, [](const Answer& one) { return one.table.placement_model() == nullptr; });
  return note + "One further measurement falls into the " + level +
         " interval. compute: one rank alone. skew: wait for the slowest of N ranks. sharing: cost of devices that "
         "share a node. exposed: communication that is not hidden" +
         (series ? "; without sync_time_s also what other shared resources cost (input, storage, power)" : "") +
         ". beyond: N / largest measured N.";
}

std::vector<Cell> row_of(const Answer& answer, std::int64_t workers) {
  const fit::StepRow question = answer.question.of(workers);
  const fit::TablePrediction prediction = answer.table.predict(question);
  return {question.strategy,
          question.workers,
          question.nodes,
          question.batch_per_worker,
          question.accumulation,
          prediction.step_s,
          prediction.low_s,
          prediction.high_s,
          answer.question.samples(question) / prediction.step_s,
          prediction.alone_s / prediction.step_s,
          prediction.compute_s,
          prediction.skew_s,
          prediction.sharing_s,
          prediction.exposed_s,
          prediction.bound,
          static_cast<double>(question.workers) / static_cast<double>(answer.largest),
          prediction.note.empty() ? Cell() : Cell(prediction.note)};
}

// Adds a note for each reason for which rows are refused.
report::Table predictions(const std::vector<Answer>& answers, const TableRequest& request,
                          std::vector<fit::Note>& refused) {
  const std::string level = fit::percent(request.confidence);
  const auto kept = std::ranges::count_if(answers, [](const Answer& one) { return one.question.global_batch > 0; });
  report::Table made;
  made.name = "predictions";
  made.title = "Predictions";
  made.note = note_on(answers, level);
  made.columns = {text("strategy", "strategy"),
                  count("workers", "N", "workers"),
                  count("nodes", "nodes"),
                  count("batch_per_worker", "batch", "samples"),
                  count("accumulation", "accumulation", "micro-batches"),
                  seconds("step_s", "step"),
                  seconds("step_low_s", level + " low"),
                  seconds("step_high_s", level + " high"),
                  digits(quantity("throughput_samples_per_s", "throughput", "samples/s"), 4),
                  share("efficiency", kept == 0                     ? "weak efficiency"
                                      : kept == std::ssize(answers) ? "strong efficiency"
                                                                    : "efficiency"),
                  seconds("compute_s", "compute"),
                  seconds("skew_s", "skew"),
                  seconds("sharing_s", "sharing"),
                  seconds("exposed_s", "exposed"),
                  text("bound", "bound"),
                  digits(quantity("extrapolation", "beyond", "×"), 3),
                  prose("note", "note")};
  made.columns.back().hide_zero = true;
  made.key_columns = 2;
  fit::RefusedCounts counts;
  for (const Answer& one : answers)
    for (const std::int64_t workers : request.workers) {
      try {
        made.rows.push_back(row_of(one, workers));
      } catch (const fit::NotSupported& error) {
        counts.add(one.question.strategy, workers, error);
      }
    }
  for (fit::Note& note : counts.notes()) refused.push_back(std::move(note));
  if (made.rows.empty()) throw fit::no_strategy_predicted(refused);
  return made;
}

// The smallest N at which exposed communication exceeds each share of the step.
report::Table knees(const std::vector<Answer>& answers, std::int64_t far) {
  report::Table made;
  made.name = "knees";
  made.title = "From which N this share of the step is exposed";
  made.note =
      "The smallest evaluated N. Every N up to 64 is evaluated; above 64, N grows by at most 1/16 per step up to the "
      "largest N of --workers, so a smaller N between two steps is possible. N that the table does not support are left "
      "out.";
  made.columns = {text("strategy", "strategy"), share("share", "exposed share of the step above"),
                  count("workers", "from N", "workers"), count("largest_workers", "largest N looked at", "workers")};
  for (const Answer& one : answers) {
    const std::vector<scaling::ScalingPoint> points = fit::scaling_points(one.table, one.question, far);
    for (const double above : scaling::knee_shares) {
      const auto found = scaling::knee(points, above);
      made.rows.push_back({one.question.strategy, above, found ? Cell(*found) : Cell(),
                           points.empty() ? Cell() : Cell(points.back().workers)});
    }
  }
  return made;
}

Answer answer_for(const std::vector<fit::StepRow>& rows, const TableRequest& request) {
  fit::TableQuestion question = fit::usual_question(rows);
  if (request.gpus_per_node.value_or(0) > 0) question.per_node = *request.gpus_per_node;
  question.batch_per_worker = request.batch_per_worker.value_or(question.batch_per_worker);
  if (request.batch_per_worker || (request.accumulation && question.keeps_batch)) {
    question.global_batch = 0;
    question.accumulation = fit::usual_accumulation(rows);
  }
  question.accumulation = request.accumulation.value_or(question.accumulation);
  return {question, fit::largest_workers(rows), fit::StepTable(rows, fit::table_options(request.confidence))};
}

}  // namespace

report::Report predict_from_table(const std::vector<fit::StepRow>& rows, const TableRequest& request) {
  try {
    std::vector<Answer> answers;
    std::vector<fit::Note> notes;
    for (const auto& [strategy, table] : fit::by_strategy(rows)) {
      try {
        answers.push_back(answer_for(table, request));
        for (const std::string& warning : answers.back().table.warnings())
          notes.push_back(fit::make_note("warning", "table_doubtful", strategy + ": " + warning, "check the table"));
      } catch (const fit::NotSupported& error) {
        notes.push_back(fit::none_predicted(strategy, error));
      }
    }
    if (answers.empty()) throw fit::no_strategy_predicted(notes);
    report::Report made{"predict", "Predictions", {}};
    made.tables = {predictions(answers, request, notes), knees(answers, *std::ranges::max_element(request.workers))};
    if (!notes.empty()) {
      made.tables.push_back(report::notes_table(notes));
      made.tables.back().title = "Warnings";
    }
    return made;
  } catch (const std::invalid_argument& error) {
    throw Failure(ExitCode::usage, error.what());
  } catch (const fit::NotSupported& error) {
    throw Failure(ExitCode::data, error.reason(), "", error.advice());
  }
}

}  // namespace ddpprof::cli
