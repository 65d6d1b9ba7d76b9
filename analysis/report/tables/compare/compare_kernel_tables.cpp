// Kernels of two files as a table, and the most important of them in words.
#include <fmt/format.h>

#include "analysis/metrics/device_work.hpp"
#include "analysis/report/tables/compare/compare_kernels.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {

Table compare_kernels_table(const std::vector<KernelDifference>& all) {
  Table table;
  table.name = "compare_kernels";
  table.title = "What the devices ran";
  table.note = fmt::format(
      "Kernels by name without template and function arguments, and by grid and block; copies by kind and bytes. A, B: "
      "sum of their durations in a step of one rank, medians over the measured steps; means where most steps of a file "
      "have none of it; an event counts to the step in which it begins. Calls: of one rank a step. Sorted by the "
      "means' difference as a part of A's step, whichever way it goes. "
      "Verdicts as in \"Where the time differs\"; of 3 to 5 steps the interval is Student's. Only in one file: "
      "different where every one of at least 3 steps has it. renamed?: of equal shape and calls exactly one is gone "
      "and one is new; other shape?: of equal name and calls. Below {} % of A's step in both files: one row. Names "
      "with more than {} shapes: all of them together. Of traces without devices: the host's operations, without "
      "what the ones inside of them take.",
      100.0 * shown_kernel_of_step, metrics::shapes_most);
  table.empty =
      "No kernel, copy or operation of a configuration that both files measured: imports have them, and runs on GPUs "
      "whose scenario keeps raw events.";
  table.columns = configuration_columns();
  for (Column& column : table.columns) column.hide_constant = true;  // one configuration, mostly
  for (Column& column : std::vector<Column>{text("kind", "kind"), text("name", "name"), text("shape", "shape")})
    table.columns.push_back(std::move(column));
  table.key_columns = static_cast<int>(table.columns.size());
  Column per = text("per", "per", true);
  Column calls_a = digits(quantity("a_calls", "calls in A", ""), 4),
         calls_b = digits(quantity("b_calls", "in B", ""), 4);
  for (Column& column : std::vector<Column>{
           per, text("verdict", "verdict"), text("change", "change", true), digits(seconds("a_s", "A"), 4),
           digits(seconds("b_s", "B", "a_s"), 4), digits(seconds("difference_s", "B − A", "a_s"), 3),
           share("difference_of_step", "of A's step"), calls_a, calls_b, digits(seconds("a_call_s", "a call in A"), 4),
           digits(seconds("b_call_s", "in B", "a_call_s"), 4), digits(quantity("ratio", "B / A", "×"), 3),
           digits(quantity("ratio_low", "low", "×"), 3), digits(quantity("ratio_high", "high", "×"), 3),
           prose("why", "why")})
    table.columns.push_back(std::move(column));
  for (const KernelDifference& d : all) {
    Row row = configuration_cells(*d.pair->a);
    row.insert(row.end(),
               {d.kind, d.name, d.shape.empty() ? Cell() : Cell(d.shape), d.pair->has_steps() ? "step" : "trace",
                d.verdict, d.change, d.a.step_s, d.b.step_s, d.b.step_s - d.a.step_s, d.of_step(), d.a.calls, d.b.calls,
                known(d.a.call_s), known(d.b.call_s)});
    if (d.ratio)
      row.insert(row.end(), {d.ratio->mid, d.ratio->low, d.ratio->high});
    else
      row.insert(row.end(), {Cell(), Cell(), Cell()});
    row.emplace_back(d.why);
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string kernels_sentence(const std::vector<KernelDifference>& all, const Pair& pair) {
  constexpr std::size_t most = 3;
  std::string text;
  std::size_t named = 0, left = 0;
  for (const KernelDifference& d : all) {
    if (d.pair != &pair || d.verdict != different) continue;
    if (named == most) {
      ++left;
      continue;
    }
    ++named;
    text += fmt::format("{}{}{} {} a step ({}{} %{})", text.empty() ? "" : "; ", d.name,
                        d.shape.empty() ? "" : " (" + d.shape + ")", signed_time(d.b.step_s - d.a.step_s),
                        d.of_step() < 0 ? "−" : "+", units::format_significant(100.0 * std::abs(d.of_step()), 2),
                        d.change.empty() ? "" : ", " + d.change);
  }
  if (left > 0) text += fmt::format("; {} more in compare_kernels", left);
  return text;
}

}  // namespace ddpprof::report
