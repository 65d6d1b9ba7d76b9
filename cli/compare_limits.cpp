#include "cli/compare_limits.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>

#include "analysis/report/core/columns.hpp"
#include "analysis/report/tables/compare/compare.hpp"
#include "cli/failure.hpp"

namespace ddpprof::cli {
namespace {

constexpr const char* limit_form =
    "a part of the step, > or <, and a change in percent, e.g. \"step>3%\" or \"throughput<-3%\"";

const report::Table& compared_table(const report::Report& compared, const char* name) {
  const auto found = std::ranges::find(compared.tables, name, &report::Table::name);
  if (found == compared.tables.end())
    throw Failure(ExitCode::data, std::string("the comparison has no table ") + name);
  return *found;
}

std::string limit_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// Returns whether the row of a comparison is beyond the limit: exceeded, not exceeded or cannot tell.
std::string judge_limit(const ChangeLimit& limit, const report::Table& table, const report::Row& row) {
  const std::optional<double> low = report::value_of<double>(table, row, "ratio_low");
  const std::optional<double> high = report::value_of<double>(table, row, "ratio_high");
  if (!low || !high) return report::cannot_tell;
  const std::string verdict = report::value_of<std::string>(table, row, "verdict").value_or("");
  if (limit.above ? *high <= limit.ratio : *low >= limit.ratio) return "not exceeded";
  const bool beyond = limit.above ? *low > limit.ratio : *high < limit.ratio;
  return beyond && verdict == report::different ? "exceeded" : report::cannot_tell;
}

}  // namespace

ChangeLimit parse_change_limit(const std::string& text) {
  ChangeLimit limit;
  limit.text = text;
  const std::size_t at = text.find_first_of("<>");
  double percent = 0.0;
  const bool whole = at != std::string::npos && at > 0 && text.back() == '%' && [&] {
    const char* end = text.data() + text.size() - 1;
    const auto [parsed, error] = std::from_chars(text.data() + at + 1, end, percent);
    return error == std::errc() && parsed == end && std::isfinite(percent);
  }();
  if (!whole) throw Failure(ExitCode::usage, "--fail-if: '" + text + "' is not a limit", limit_form);
  limit.what = text.substr(0, at);
  std::ranges::replace(limit.what, '_', ' ');
  std::vector<std::string> known = report::compared_parts();
  known.emplace_back("throughput");
  if (std::ranges::find(known, limit.what) == known.end())
    throw Failure(ExitCode::usage, "--fail-if: the comparison has no part '" + limit.what + "'",
                  "one of " + limit_words(known));
  limit.above = text[at] == '>';
  limit.ratio = 1.0 + percent / 100.0;
  if (limit.above ? percent < 0.0 : percent > 0.0 || percent <= -100.0)
    throw Failure(ExitCode::usage, "--fail-if: '" + text + "' is not a limit",
                  "0 % or more after >, and 0 % to more than −100 % after <");
  return limit;
}

bool add_change_limits(report::Report& compared, const std::vector<ChangeLimit>& limits) {
  report::Table table;
  table.name = "compare_limits";
  table.title = "Limits";
  table.note =
      "Exceeded: the verdict is different, and the whole interval of B / A is beyond the limit. Not exceeded: the "
      "whole interval is within the limit. Cannot tell: otherwise.";
  table.columns = {report::text("limit", "limit"),
                   report::text("result", "result"),
                   report::text("model", "model", true),
                   report::text("strategy", "strategy", true),
                   report::count("workers", "N", "workers"),
                   report::count("global_batch_samples", "global batch", "samples"),
                   report::digits(report::quantity("ratio", "B / A", "×"), 4),
                   report::digits(report::quantity("ratio_low", "low", "×"), 4),
                   report::digits(report::quantity("ratio_high", "high", "×"), 4)};
  table.key_columns = 2;
  bool exceeded = false;
  for (const ChangeLimit& limit : limits) {
    const bool of_throughput = limit.what == "throughput";
    const report::Table& source = compared_table(compared, of_throughput ? "compare_throughput" : "compare_time");
    const auto is = [&](const report::Row& row, const std::string& what) {
      return of_throughput || report::value_of<std::string>(source, row, "what") == what;
    };
    // A part that no step has, for example waiting for data, cannot be judged: one row for each compared step.
    const bool found = std::ranges::any_of(source.rows, [&](const report::Row& row) { return is(row, limit.what); });
    for (const report::Row& row : source.rows) {
      if (!is(row, found ? limit.what : "step")) continue;
      const std::string result = found ? judge_limit(limit, source, row) : report::cannot_tell;
      exceeded = exceeded || result == "exceeded";
      report::Row cells = {limit.text, result};
      for (const char* column : {"model", "strategy", "workers", "global_batch_samples"})
        cells.push_back(report::cell_of(source, row, column));
      for (const char* column : {"ratio", "ratio_low", "ratio_high"})
        cells.push_back(found ? report::cell_of(source, row, column) : report::Cell());
      table.rows.push_back(std::move(cells));
    }
  }
  table.empty = "No configuration was compared.";
  compared.tables.insert(compared.tables.begin() + 1, std::move(table));
  return exceeded;
}

}  // namespace ddpprof::cli
