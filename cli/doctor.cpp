// ddpprof doctor: what this machine can run and measure, and what to do about what it cannot.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <ostream>

#include "analysis/report/report.hpp"
#include "cli/doctor/checks.hpp"
#include "cli/doctor/facts.hpp"
#include "cli/output_format.hpp"
#include "cli/subcommand.hpp"

namespace ddpprof::cli {
namespace {

using report::Cell;
using report::Column;
using report::Kind;

Column column(const char* name, const char* title, Kind kind = Kind::text) {
  Column made;
  made.name = name;
  made.title = title;
  made.kind = kind;
  return made;
}

Cell cell(const std::string& text) { return text.empty() ? Cell() : Cell(text); }

report::Table ability_table(const Facts& facts) {
  report::Table table;
  table.name = "abilities";
  table.title = can_measure(facts) ? "What can be measured here" : "Nothing can be measured here yet";
  table.columns = {column("can", "can", Kind::flag), column("what", "what"),
                   column("detail", "how far, or why not", Kind::prose), column("advice", "what to do", Kind::prose)};
  table.key_columns = 2;
  for (const Ability& ability : abilities(facts))
    table.rows.push_back({std::int64_t{ability.can}, ability.what, cell(ability.detail), cell(ability.advice)});
  return table;
}

report::Table check_table(const Facts& facts, bool brief) {
  report::Table table;
  table.name = "checks";
  table.title = brief ? "What to look at" : "What was found";
  table.note = "good: as it should be. note: it can change a measurement. bad: it spoils or prevents one.";
  table.empty = "Everything is as it should be.";
  table.columns = {column("verdict", "verdict"), column("area", "area"), column("what", "what"),
                   column("found", "found", Kind::prose), column("advice", "what to do", Kind::prose)};
  table.key_columns = 3;
  for (const Check& check : make_checks(facts)) {
    if (brief && check.verdict == Verdict::good) continue;
    table.rows.push_back(
        {std::string(to_string(check.verdict)), check.area, check.what, cell(check.found), cell(check.advice)});
  }
  return table;
}

class Doctor final : public Subcommand {
 public:
  std::string_view name() const override { return "doctor"; }
  std::string_view summary() const override {
    return "Say what this machine can run and measure, and what to do about what it cannot";
  }

  void declare(CLI::App& app) override {
    app.add_option("--format", format_, format_help);
    app.add_option("--folder", options_.folder, "Folder that databases would be written to (default: this one)");
    app.add_flag("--brief", brief_, "Leave out what is good");
  }

  ExitCode run(Context& context) override {
    const report::Format format = checked_format(format_);
    const Facts facts = look(options_);
    report::Report made{"doctor", "Doctor", {ability_table(facts), check_table(facts, brief_)}};
    render(made, format, context.out, context.width);
    return can_measure(facts) ? ExitCode::done : ExitCode::machine;
  }

 private:
  std::string format_ = "table";
  LookOptions options_;
  bool brief_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> make_doctor() { return std::make_unique<Doctor>(); }

}  // namespace ddpprof::cli
