#include "cli/results.hpp"

#include <ostream>

#include "analysis/export/export.hpp"
#include "analysis/report/report.hpp"
#include "cli/files/output_path.hpp"
#include "cli/option_values.hpp"
#include "cli/subcommand.hpp"
#include "runner/scenario_queries/options.hpp"
#include "runner/scenario_queries/report.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {

void show_report(store::Database& database, report::Format format, std::string_view full_report, Context& context,
                 const std::shared_ptr<const fit::Models>& models) {
  const bool screen = format == report::Format::table && !context.full;
  render(scenario_queries::build_report(database, screen ? report::answer_report : full_report,
                                        metrics::OverlapRule::intersection, nullptr, models),
         format, context.out, style_of(context));
}

void check_exports(const scenario::Output& output, const std::filesystem::path& database) {
  check_output_path("output.csv", output.csv, OutputKind::folder, database);
  check_output_path("output.chrome", output.chrome, OutputKind::file, database);
}

void write_exports(store::Database& database, const scenario::Output& output) {
  try {
    if (!output.csv.empty()) export_::export_csv(database, output.csv);
    if (!output.chrome.empty()) export_::export_chrome(database, output.chrome);
  } catch (const export_::ExportError& error) {
    throw Failure(ExitCode::failed, error.what());
  }
}

ExitCode write_results(store::Database& database, const scenario::Scenario& scenario, report::Format format,
                       const std::string& subcommand, Context& context) {
  ExitCode code = ExitCode::done;
  std::shared_ptr<const fit::Models> models;
  try {
    models = fit::fit_and_predict(database, scenario_queries::predict_options(scenario),
                                  scenario_queries::learning_rate_options(scenario, database))
                 .predicted.models;
  } catch (const fit::NotSupported& error) {  // the report shows the measurements
    context.messages << "ddpprof " << subcommand << ": no prediction: " << error.what() << '\n';
    code = ExitCode::data;
  }
  show_report(database, format, "summary", context, models);
  write_exports(database, scenario.output);
  if (!context.quiet) context.messages << "database: " << database.path().string() << '\n';
  return code;
}

}  // namespace ddpprof::cli
