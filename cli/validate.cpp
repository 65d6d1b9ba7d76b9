// ddpprof validate: checks a scenario file and prints every problem.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <ostream>

#include "cli/files/scenario_file.hpp"
#include "cli/jobs/run_job.hpp"
#include "cli/subcommand.hpp"

namespace ddpprof::cli {
namespace {

class ValidateSubcommand final : public Subcommand {
 public:
  std::string_view name() const override { return "validate"; }
  std::string_view summary() const override { return "Check a scenario file and print every problem"; }
  std::vector<std::string_view> examples() const override {
    return {"ddpprof validate scenario.yaml", "ddpprof validate scenario.yaml --set measure.steps=50 --print"};
  }

  void declare(CLI::App& app) override {
    app.add_option("SCENARIO.yaml", file_, "Scenario file (docs/reference/scenario.md describes every key)")
        ->required();
    app.add_option("--set", overrides_, "Override a key, e.g. --set measure.steps=50; may be given several times")
        ->type_name("KEY=VALUE")
        ->take_all()
        ->allow_extra_args(false);
    app.add_flag("--print", print_, "Print the scenario with every default filled in");
  }

  ExitCode run(Context& context) override {
    const scenario::ReadResult result = read_scenario(context, file_, overrides_);
    if (result.scenario.has_command()) check_job({.scenario = result.scenario, .path = file_, .source = result.source});
    if (print_) {
      context.out << scenario::to_yaml(result.scenario);
    } else if (!context.quiet) {
      context.out << file_ << ": scenario '" << result.scenario.name << "' is valid\n";
    }
    return ExitCode::done;
  }

 private:
  std::string file_;
  std::vector<std::string> overrides_;
  bool print_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> make_validate() { return std::make_unique<ValidateSubcommand>(); }

}  // namespace ddpprof::cli
