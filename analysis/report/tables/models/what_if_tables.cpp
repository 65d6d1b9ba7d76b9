#include "analysis/report/tables/models/what_if_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analysis/report/core/columns.hpp"
#include "analysis/report/tables/models/model_tables.hpp"

namespace ddpprof::report {
namespace {

using fit::Term;

struct TermColumn {
  Term term;
  const char* meaning;
};
constexpr TermColumn terms[] = {
    {Term::compute, "a rank's own compute"},
    {Term::sharing, "additional compute and communication time because ranks share cores"},
    {Term::host, "the device waits for the host's launches"},
    {Term::bandwidth, "the part of collectives that is proportional to their bytes"},
    {Term::latency, "the part of collectives that does not depend on their bytes, and broadcasts of buffers"},
    {Term::skew, "waiting for slower ranks"},
    {Term::input, "waiting for data"},
    {Term::copies, "DataParallel's copies between replicas"},
};

Cell gain_of(const fit::WhyRow& row, Term term) {
  const auto found = std::ranges::find(row.gains, term, &fit::TermGain::term);
  return found == row.gains.end() ? Cell() : Cell(found->share);
}

}  // namespace

std::string terms_text(const std::function<bool(std::string_view)>& occurs) {
  std::string text;
  for (const TermColumn& one : terms)
    if (occurs(to_string(one.term)))
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", to_string(one.term), one.meaning);
  return text;
}

std::string_view term_meaning(std::string_view term) {
  const auto found = std::ranges::find(terms, term, [](const TermColumn& one) { return to_string(one.term); });
  return found == std::end(terms) ? std::string_view() : std::string_view(found->meaning);
}

std::string one_sided_text(std::span<const fit::WhatIfRow> rows) {
  const auto at_end = [](double low, double value, double high) {
    return high > low && (value <= low || value >= high);
  };
  const bool any = std::ranges::any_of(rows, [&](const fit::WhatIfRow& row) {
    return at_end(row.changed_low_s, row.changed_step_s, row.changed_high_s) ||
           at_end(row.speedup_low, row.speedup, row.speedup_high);
  });
  return any ? " A value that is an end of its own interval is the best or the worst case: parameters that the "
               "measurements do not determine can only change it to the other side."
             : "";
}

Table why_table(std::span<const fit::WhyRow> rows, const fit::WhatIf& change) {
  Table table;
  table.name = "why";
  table.title = "Why: how much shorter a step would be if a term were free";
  table.columns = {text("strategy", "strategy"), count("workers", "N", "workers"), text("what_if", "what if", true),
                   digits(seconds("step_s", "step"), 4), text("bound", "bound")};
  table.columns[2].hide_zero = true;
  table.key_columns = 3;
  for (const TermColumn& one : terms) {
    const std::string name(to_string(one.term));
    Column column = share("gain_" + name, name);
    column.hide_zero = true;
    table.columns.push_back(column);
  }
  const std::string meanings = terms_text([&](std::string_view name) {
    return std::ranges::any_of(rows, [&](const fit::WhyRow& row) {
      return std::ranges::any_of(
          row.gains, [&](const fit::TermGain& gain) { return to_string(gain.term) == name && gain.share > 0.0; });
    });
  });
  table.note =
      "Each share is the reduction of the step if this term alone took no time. Removing one term may expose another, "
      "so the shares need not add up to the step. Bound: the term with the largest share." +
      (meanings.empty() ? "" : " " + meanings + ".");
  const std::string said = fmt::format("{}", fmt::join(change.said, " "));
  for (const fit::WhyRow& row : rows) {
    Row cells = {row.strategy, row.workers, row.changed ? Cell(said) : Cell(), row.step_s, row.bound};
    for (const TermColumn& one : terms) cells.push_back(gain_of(row, one.term));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table what_if_table(std::span<const fit::WhatIfRow> rows, const fit::WhatIf& change, double confidence) {
  Table table;
  table.name = "what_if";
  table.title = fmt::format("What if {}", fmt::join(change.said, ", "));
  const std::string level = fmt::format("{:.3g} %", 100.0 * confidence);
  table.note = "Speedup: of the throughput, with its " + level +
               " interval. Uncertainty that both steps share does not widen this interval. Bound: the term without "
               "which the step would be shortest, before and after the change." +
               one_sided_text(rows);
  table.empty = "The measurements in this file cannot answer this question.";
  table.columns = {text("strategy", "strategy"),
                   count("workers", "N", "workers"),
                   digits(seconds("step_s", "step now"), 4),
                   digits(seconds("changed_step_s", "step then", "step_s"), 4),
                   digits(seconds("changed_step_low_s", level + " low", "step_s"), 4),
                   digits(seconds("changed_step_high_s", level + " high", "step_s"), 4),
                   digits(quantity("throughput_samples_per_s", "throughput now", "samples/s"), 4),
                   digits(quantity("changed_throughput_samples_per_s", "then", "samples/s"), 4),
                   digits(quantity("speedup", "speedup", "×"), 3),
                   digits(quantity("speedup_low", "low", "×"), 3),
                   digits(quantity("speedup_high", "high", "×"), 3),
                   text("bound", "bound now"),
                   text("changed_bound", "bound then")};
  table.key_columns = 2;
  for (const fit::WhatIfRow& row : rows)
    table.rows.push_back({row.strategy, row.workers, row.step_s, row.changed_step_s, row.changed_low_s,
                          row.changed_high_s, row.throughput, row.changed_throughput, row.speedup, row.speedup_low,
                          row.speedup_high, row.bound, row.changed_bound});
  return table;
}

Table strong_predictions_table(std::span<const fit::StrongScaling> all) {
  Table table;
  table.name = "strong_predictions";
  table.title = "Strong scaling predicted: a fixed global batch";
  table.note =
      "Batch per worker = global batch / (N × accumulation). Compute at a batch that was not measured follows the law "
      "that is fitted to several measured batches. Another global batch: ddpprof predict --global-batch.";
  table.empty = "Strong scaling needs several measured batches per worker. Measure them with measure.batches.";
  double confidence = 0.0;
  for (const fit::StrongScaling& one : all)
    for (const fit::StrongPoint& point : one.points) confidence = std::max(confidence, point.confidence);
  const std::string level = confidence > 0.0 ? fmt::format("{:.3g} % ", 100.0 * confidence) : "";
  table.columns = {text("strategy", "strategy"),
                   count("workers", "N", "workers"),
                   count("global_batch", "global batch", "samples"),
                   count("batch_per_worker", "batch per worker", "samples"),
                   digits(seconds("step_s", "step"), 4),
                   digits(seconds("step_low_s", level + "low", "step_s"), 4),
                   digits(seconds("step_high_s", level + "high", "step_s"), 4),
                   digits(quantity("throughput_samples_per_s", "throughput", "samples/s"), 4),
                   prose("note", "not predicted because")};
  table.columns.back().hide_zero = true;
  table.key_columns = 2;
  for (const fit::StrongScaling& one : all) {
    for (const fit::StrongPoint& point : one.points) {
      const bool known = point.refusal.empty();
      const auto cell = [known](double value) { return known ? Cell(value) : Cell(); };
      table.rows.push_back({one.strategy, point.workers, one.global_batch,
                            point.batch_per_worker > 0 ? Cell(point.batch_per_worker) : Cell(), cell(point.step_s),
                            cell(point.low_s), cell(point.high_s), cell(point.throughput),
                            known ? Cell() : Cell(point.refusal)});
    }
  }
  return table;
}

}  // namespace ddpprof::report
