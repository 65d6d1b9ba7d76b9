// ddpprof report: prints one report of a trace database.
#include "analysis/report/report.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>
#include <ostream>

#include "analysis/report/core/ascii.hpp"
#include "cli/files/database_file.hpp"
#include "cli/option_values.hpp"
#include "cli/subcommand.hpp"
#include "runner/scenario_queries/report.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {
namespace {

std::vector<std::string> known_reports() {
  std::vector<std::string> names;
  for (const auto& info : report::report_names()) names.emplace_back(info.name);
  return names;
}

std::vector<std::string> known_overlap_rules() {
  std::vector<std::string> names;
  for (const metrics::OverlapRule rule : metrics::all_overlap_rules()) names.emplace_back(to_string(rule));
  return names;
}

class ReportSubcommand final : public Subcommand {
 public:
  std::string_view name() const override { return "report"; }
  std::string_view summary() const override { return "Print a report of a trace database"; }
  std::vector<std::string_view> examples() const override {
    return {"ddpprof report job.db", "ddpprof report job.db --report collectives --format csv"};
  }

  void declare(CLI::App& app) override {
    app.add_option("FILE.db", file_, "Trace database, as written by ddpprof run")->required();
    std::string names;
    for (const auto& info : report::report_names()) {
      names += "\n" + std::string(info.name) + ": " + std::string(info.summary);
    }
    with_words(app.add_option("--report", report_, "Which report, one of:" + names), known_reports())
        ->type_name("NAME")
        ->default_str("answer; summary for csv, json and markdown; all for html");
    app.add_flag(full_names, full_, full_help);
    app.add_flag(
        "--plot{auto}", plot_,
        "Plot the step time over N in characters, on a terminal of 60 columns or more; --plot=always: anywhere");
    with_words(app.add_option("--rule", rule_,
                              "For the report overlap, where tools differ: intersection, hta (Holistic Trace Analysis) "
                              "or tensorboard"),
               known_overlap_rules())
        ->type_name("RULE")
        ->capture_default_str();
    with_words(app.add_option("--format", format_, format_help), formats)->type_name("FORMAT")->capture_default_str();
  }

  ExitCode run(Context& context) override {
    const report::Format format = checked_format(format_);
    if (report_.empty())
      report_ = format == report::Format::html              ? "all"
                : format == report::Format::table && !full_ ? std::string(report::answer_report)
                                                            : "summary";
    else if (full_)
      throw Failure(ExitCode::usage, "--full and --report " + report_ + " contradict each other", "one of them");
    check_word("--report", report_, known_reports());
    const std::vector<std::string> rules = known_overlap_rules();
    check_word("--rule", rule_, rules);
    if (rule_ != "intersection" && report_ != "overlap")
      throw Failure(ExitCode::usage, "--rule " + rule_ + " with --report " + report_, "--report overlap",
                    "--rule applies to this report only");
    const metrics::OverlapRule rule =
        metrics::all_overlap_rules()[static_cast<std::size_t>(std::ranges::find(rules, rule_) - rules.begin())];
    if (!plot_.empty()) check_word("--plot", plot_, {"auto", "always"});
    if (!plot_.empty() && format != report::Format::table)
      throw Failure(ExitCode::usage, "--plot with --format " + format_, "--format table");
    store::Database database = open_database(file_, "report", context);
    render(scenario_queries::build_report(database, report_, rule), format, context.out, style_of(context));
    constexpr int narrowest_plot = 60;
    if (plot_ == "always" || (plot_ == "auto" && context.out_is_terminal && context.width >= narrowest_plot)) {
      const std::string plot = report::plot_steps(database, context.width > 0 ? context.width : report::default_width);
      context.out << '\n' << (context.ascii ? report::ascii_text(plot) : plot);
    }
    return ExitCode::done;
  }

 private:
  std::string file_, plot_, report_, rule_ = "intersection", format_ = "table";
  bool full_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> make_report() { return std::make_unique<ReportSubcommand>(); }

}  // namespace ddpprof::cli
