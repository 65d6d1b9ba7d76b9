#include "cli/outputs.hpp"

#include <stdexcept>

#include "analysis/report/report.hpp"

namespace ddpprof::cli {

report::Format parse_format(const std::string& name) {
  if (const auto format = report::parse_format(name)) return *format;
  const std::string guess = nearest(name, {"table", "csv", "json", "markdown"});
  throw Failure(ExitCode::usage, "unknown format '" + name + "'", "table, csv, json or markdown",
                guess.empty() ? "" : "did you mean '" + guess + "'?");
}

void print_report(Context& context, store::Database& database, const std::string& name, report::Format format) {
  try {
    report::render(report::build_report(database, name), format, context.out, context.width);
  } catch (const std::invalid_argument& error) {
    throw Failure(ExitCode::usage, error.what());
  }
}

}  // namespace ddpprof::cli
