// ddpprof compare: compares two trace databases, differences first.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/option_values.hpp"
#include "cli/subcommand.hpp"
#include "runner/scenario_queries/compare.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {
namespace {

class CompareSubcommand final : public Subcommand {
 public:
  std::string_view name() const override { return "compare"; }
  std::string_view summary() const override { return "Compare two trace databases, differences first"; }

  void declare(CLI::App& app) override {
    app.add_option("A.db", a_, "The trace database to compare with")->required();
    app.add_option("B.db", b_, "The trace database that is compared: ratios are B / A")->required();
    app.add_option("--format", format_, format_help)->type_name("FORMAT")->capture_default_str();
  }

  ExitCode run(Context& context) override {
    const report::Format format = checked_format(format_);
    store::Database a = store::Database::open_read(a_), b = store::Database::open_read(b_);
    render(scenario_queries::compare(a, b), format, context.out, context.width);
    return ExitCode::done;
  }

 private:
  std::string a_, b_, format_ = "table";
};

}  // namespace

std::unique_ptr<Subcommand> make_compare() { return std::make_unique<CompareSubcommand>(); }

}  // namespace ddpprof::cli
