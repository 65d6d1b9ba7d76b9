// ddpprof compare: compares two trace databases, or measurements of one, differences first.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <cstdint>
#include <sstream>
#include <utility>
#include <vector>

#include "analysis/report/tables/compare/compare.hpp"
#include "cli/compare_limits.hpp"
#include "cli/files/database_file.hpp"
#include "cli/option_values.hpp"
#include "cli/subcommand.hpp"
#include "runner/scenario_queries/compare.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {
namespace {

class CompareSubcommand final : public Subcommand {
 public:
  std::string_view name() const override { return "compare"; }
  std::string_view summary() const override {
    return "Compare two trace databases, or two N or batches of one, differences first";
  }
  std::vector<std::string_view> examples() const override {
    return {"ddpprof compare before.db after.db --fail-if \"step>3%\"", "ddpprof compare job.db --workers 1,4"};
  }

  void declare(CLI::App& app) override {
    app.add_option("A.db", a_, "The trace database to compare with")->required();
    app.add_option("B.db", b_, "The trace database that is compared: ratios are B / A");
    app.add_option("--workers", workers_, "Two N of A.db, e.g. 1,4: compares the second with the first")
        ->type_name("N,N")
        ->check(not_empty);
    app.add_option("--batches", batches_,
                   "Two batches per worker of A.db, e.g. 16,32: compares the second with the first")
        ->type_name("N,N")
        ->check(not_empty);
    app.add_option(
           "--fail-if", limits_,
           "Exit code 1 if a change is beyond this limit and its interval excludes the limit (repeatable): step>3%,\n"
           "exposed>10%, throughput<-3%; also compute, communication, skew, host, data_wait, copies")
        ->type_name("LIMIT")
        ->allow_extra_args(false);
    with_words(app.add_option("--format", format_, format_help), formats)->type_name("FORMAT")->capture_default_str();
  }

  ExitCode run(Context& context) override {
    const report::Format format = checked_format(format_);
    if (b_.empty() == (workers_.empty() && batches_.empty()) || (!workers_.empty() && !batches_.empty()))
      throw Failure(ExitCode::usage, "what to compare is not clear",
                    "two databases; or one database and either --workers or --batches");
    std::vector<ChangeLimit> limits;
    for (const std::string& text : limits_) limits.push_back(parse_change_limit(text));
    store::Database a = open_database(a_, "compare", context);
    if (b_.empty()) {
      const auto [first, second] = workers_.empty() ? two(batches_, "--batches") : two(workers_, "--workers");
      return show(report::compare_within(a, first, second), limits, format, context);
    }
    store::Database b = open_database(b_, "compare", context);
    return show(scenario_queries::compare(a, b), limits, format, context);
  }

 private:
  // Returns ExitCode::data if no configuration was compared. The report has the reason.
  static ExitCode show(report::Report compared, const std::vector<ChangeLimit>& limits, report::Format format,
                       Context& context) {
    const bool nothing = !compared.tables.front().empty.empty();
    const bool exceeded = !limits.empty() && !nothing && add_change_limits(compared, limits);
    render(compared, format, context.out, style_of(context));
    return nothing ? ExitCode::data : exceeded ? ExitCode::changed : ExitCode::done;
  }

  // Returns the selections of "first,second" in this order. Throws Failure unless these are two different numbers.
  std::pair<report::Selection, report::Selection> two(const std::string& text, const std::string& option) const {
    std::vector<std::int64_t> numbers;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');)
      for (const long long number : parse_worker_list(part, option)) numbers.push_back(number);
    if (numbers.size() != 2 || numbers[0] == numbers[1])
      throw Failure(ExitCode::usage, option + " " + text, "two different numbers, e.g. 1,4");
    const auto selection = [&](std::int64_t number) {
      return option == "--workers" ? report::Selection{number, {}} : report::Selection{{}, number};
    };
    return {selection(numbers[0]), selection(numbers[1])};
  }

  std::string a_, b_, workers_, batches_, format_ = "table";
  std::vector<std::string> limits_;
};

}  // namespace

std::unique_ptr<Subcommand> make_compare() { return std::make_unique<CompareSubcommand>(); }

}  // namespace ddpprof::cli
