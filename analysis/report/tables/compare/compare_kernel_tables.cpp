// Kernels of two files as a table, and the most important differences as text.
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
      "Kernels are grouped by name (without template and function arguments), grid and block; copies by kind and "
      "bytes. A, B: sum of durations per step and rank, as the median over the measured steps, or as the mean if most "
      "steps of a file do not have it. An event belongs to the step in which it begins. Calls: per rank and step. "
      "Sorted by |difference of the means| / A's step. Verdicts as in \"Where the time differs\"; with 3 to 5 steps "
      "the interval is Student's. Only in one file: different if each of at least 3 steps has it. Renamed?: exactly "
      "one kernel disappeared and one appeared with equal shape and calls. Other shape?: the same with equal name and "
      "calls. Kernels below {} % of A's step in both files share one row. Names with more than {} shapes have one row "
      "for all shapes. For traces without devices: operations of the host, without nested operations.",
      100.0 * shown_kernel_of_step, metrics::shapes_most);
  table.empty =
      "No kernel, copy or operation was recorded for a configuration that both files have. Imports record them, and so "
      "do runs on GPUs if the scenario keeps raw events (output.raw).";
  table.columns = configuration_columns();
  for (Column& column : table.columns) column.hide_constant = true;  // usually there is only one configuration
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
    const double more_s = d.b.step_s - d.a.step_s, percent = pair.step_a_s > 0 ? 100.0 * more_s / pair.step_a_s : 0.0;
    text += fmt::format("{}{}{} {} a step ({}{} % of A's step{})", text.empty() ? "" : "; ", d.name,
                        d.shape.empty() ? "" : " (" + d.shape + ")", signed_time(more_s), percent < 0 ? "−" : "+",
                        units::format_significant(std::abs(percent), 2), d.change.empty() ? "" : ", " + d.change);
  }
  if (left > 0) text += fmt::format("; {} more in compare_kernels", left);
  return text;
}

}  // namespace ddpprof::report
