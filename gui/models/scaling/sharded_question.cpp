#include "gui/models/scaling/sharded_question.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "analysis/predict/sharded/shard_logs.hpp"
#include "analysis/predict/sharded/sharded_prediction.hpp"
#include "analysis/report/tables/models/model_tables.hpp"
#include "analysis/report/tables/models/what_if_tables.hpp"
#include "analysis/report/tables/sharding/sharding.hpp"
#include "gui/models/scaling/knobs.hpp"
#include "gui/models/scaling/levers.hpp"
#include "gui/models/shell_words.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::gui::whatif {
namespace {

constexpr const char* fsdp = "fsdp";

std::set<std::int64_t> counts_of_file(const OpenedFile& file) {
  std::set<std::int64_t> counts;
  for (const report::Row& row : file.stored_predictions.rows)
    if (report::value_of<std::string>(file.stored_predictions, row, "strategy") == fsdp)
      if (const auto workers = report::value_of<std::int64_t>(file.stored_predictions, row, "workers"))
        counts.insert(*workers);
  for (const fit::ShardedRanks& ranks : file.sharded->measured) counts.insert(ranks.workers);
  return counts;
}

fit::PredictOptions options_of(const OpenedFile& file, const ShardedQuestion& question,
                               std::vector<fit::Note>& notes_of_logs) {
  fit::PredictOptions options = file.predict;
  options.workers = sharded_counts(file, question.workers);
  options.gpus_per_node = question.gpus_per_node;
  options.what_if = fit::parse_what_if(question.changes);
  for (const std::filesystem::path& log : question.gather_logs)
    fit::add_shard_log(log, "all_gather", options, notes_of_logs);
  for (const std::filesystem::path& log : question.scatter_logs)
    fit::add_shard_log(log, "reduce_scatter", options, notes_of_logs);
  return options;
}

std::optional<PredictionChoice> choice_of(const OpenedFile& file, const ShardedQuestion& question,
                                          fit::PredictOptions options) {
  const ShardedQuestion own = first_question(file);
  std::vector<std::string> all;
  if (question.workers != own.workers) all.push_back(fmt::format("N = {}", question.workers));
  if (question.gpus_per_node != own.gpus_per_node) all.push_back(gpus_per_node_text(question.gpus_per_node));
  for (const auto* logs : {&question.gather_logs, &question.scatter_logs})
    for (const std::filesystem::path& log : *logs) all.push_back("links of " + log.filename().string());
  if (all.empty()) return std::nullopt;
  options.what_if = {};
  return PredictionChoice{question.workers, std::move(options), fmt::format("{}", fmt::join(all, ", "))};
}

// The term of the glossary with its meaning.
std::string bound_and_meaning(const std::string& bound) {
  return fmt::format("{} ({}).", bound, report::term_meaning(bound));
}

void add_change_sentences(const fit::PredictResult& result, const fit::WhatIf& change, std::int64_t workers,
                          std::vector<Sentence>& all) {
  const auto effect = std::ranges::find(result.what_ifs, workers, &fit::WhatIfRow::workers);
  if (effect == result.what_ifs.end()) {
    for (const fit::Note& note : result.notes)
      if (note.code == "what_if_none") all.push_back({"What if", note.message + ".", true});
    return;
  }
  const auto step = [](double value) { return figure_text(value, Quantity::step); };
  const auto times = [](double value) { return figure_text(value, Quantity::speedup); };
  all.push_back({"What if", fmt::format("{}: step {} ({} to {}).", fmt::join(change.said, " "),
                                        step(effect->changed_step_s), step(effect->changed_low_s),
                                        step(effect->changed_high_s))});
  all.push_back({"What-if gain", fmt::format("{} the throughput ({} to {}).", times(effect->speedup),
                                             times(effect->speedup_low), times(effect->speedup_high))});
  all.push_back({"What-if binding term", bound_and_meaning(effect->changed_bound)});
}

std::vector<Sentence> sentences_of(const fit::PredictResult& result, const fit::PredictOptions& options,
                                   std::int64_t workers) {
  std::vector<Sentence> all;
  const auto row = std::ranges::find(result.predictions, workers, &fit::Prediction::world_size);
  if (row == result.predictions.end()) {
    for (const fit::Note& note : result.notes)
      if (note.code == "prediction_none") all.push_back({"Not predicted", note.message + ".", true});
    return all;
  }
  const bool changed = options.what_if.any();
  if (changed) add_change_sentences(result, options.what_if, workers, all);
  const auto now = [changed](const char* about) { return changed ? std::string(about) + " now" : about; };
  all.push_back({now("Step"), fmt::format("{} ({:.3g} % interval {} to {}).", figure_text(row->step_s, Quantity::step),
                                          100.0 * row->confidence, figure_text(row->step_low_s, Quantity::step),
                                          figure_text(row->step_high_s, Quantity::step))});
  if (row->throughput > 0.0)
    all.push_back({now("Throughput"), figure_text(row->throughput, Quantity::throughput) + "."});
  all.push_back({now("Efficiency"), figure_text(row->efficiency, Quantity::efficiency) +
                                        (workers == 1 ? ": one rank is the reference."
                                                      : " of N times the throughput of one rank.")});
  all.push_back({now("Binding term"), bound_and_meaning(row->bound)});
  if (!row->note.empty()) all.push_back({"Note", row->note + "."});
  return all;
}

}  // namespace

ShardedQuestion first_question(const OpenedFile& file) {
  ShardedQuestion question;
  question.gpus_per_node = file.predict.gpus_per_node;
  const std::set<std::int64_t> counts = counts_of_file(file);
  question.workers = std::min(*counts.rbegin(), most_workers);
  return question;
}

std::vector<std::int64_t> sharded_counts(const OpenedFile& file, std::int64_t workers) {
  std::set<std::int64_t> counts = counts_of_file(file);
  const std::int64_t furthest = *counts.rbegin();
  counts.erase(counts.upper_bound(workers), counts.end());
  for (std::int64_t power = 2; power < workers; power *= 2)
    if (power > furthest) counts.insert(power);
  counts.insert(workers);
  return {counts.begin(), counts.end()};
}

std::string add_log(ShardedQuestion& question, const std::filesystem::path& path) {
  std::string why;
  bool used = false;
  for (const auto& [op, logs] : {std::pair{"all_gather", &question.gather_logs},
                                 {"reduce_scatter", &question.scatter_logs}}) {
    try {
      fit::read_others(path, op);
      logs->push_back(path);
      used = true;
    } catch (const fit::NcclTestsError& error) {
      if (why.empty()) why = error.what();
    }
  }
  return used ? "" : why;
}

std::string command_line(const OpenedFile& file, const ShardedQuestion& question) {
  std::string text = fmt::format("ddpprof predict {} --workers {}", shell_word(file.path.string()),
                                 fmt::join(sharded_counts(file, question.workers), ","));
  if (question.gpus_per_node != file.predict.gpus_per_node)
    text += fmt::format(" --gpus-per-node {}", question.gpus_per_node);
  for (const std::filesystem::path& log : question.gather_logs) text += " --all-gather " + shell_word(log.string());
  for (const std::filesystem::path& log : question.scatter_logs)
    text += " --reduce-scatter " + shell_word(log.string());
  for (const std::string& change : question.changes) text += " --what-if " + change;
  return text;
}

ShardedAnswer answer(const OpenedFile& file, const ShardedQuestion& question) {
  file.check_unchanged();
  store::Database database = store::Database::open_read(file.path);
  std::vector<fit::Note> notes_of_logs;
  const fit::PredictOptions options = options_of(file, question, notes_of_logs);
  ShardedAnswer made;
  fit::PredictResult result;
  try {
    result = fit::predict_all(database, options);
  } catch (const fit::NotSupported& error) {
    made.sentences = {{"Not predicted", std::string(error.what()) + ".", true}};
    return made;
  }
  made.sentences = sentences_of(result, options, question.workers);
  result.notes.insert(result.notes.end(), notes_of_logs.begin(), notes_of_logs.end());
  made.predictions = report::predictions_table(result.predictions);
  if (options.what_if.any())
    made.what_if = report::what_if_table(result.what_ifs, options.what_if, options.confidence);
  made.memory = report::sharded_memory_table(result.memory, options.what_if);
  made.notes = report::notes_table(result.notes);
  std::vector<Lever> levers;
  for (fit::RankedChange& change : fit::ranked_sharded_changes(database.sql(), options, question.workers))
    levers.push_back({std::move(change), {}});
  made.levers = levers_table(levers, question.workers, options.confidence);
  made.choice = choice_of(file, question, options);
  return made;
}

}  // namespace ddpprof::gui::whatif
