// ddpprof doctor: what this machine can run and measure, and how to make the rest possible.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <ostream>

#include "analysis/report/core/columns.hpp"
#include "analysis/report/report.hpp"
#include "cli/option_values.hpp"
#include "cli/subcommand.hpp"
#include "runner/doctor/checks.hpp"
#include "runner/doctor/facts.hpp"

namespace ddpprof::cli {
namespace {

using report::Cell;
using report::flag;
using report::prose;
using report::text;

Cell cell(const std::string& words) { return words.empty() ? Cell() : Cell(words); }

// The columns of a table with a fact and an advice in each row: two columns for programs, one combined column for
// people, because a folded table with two long columns is hard to read.
struct Layout {
  bool together = false;

  void add_columns(report::Table& table, const char* name, const char* title) const {
    table.columns.push_back(prose(name, title));
    if (!together) table.columns.push_back(prose("advice", "what to do"));
  }
  void add_cells(report::Row& row, const std::string& fact, const std::string& advice) const {
    if (together) {
      row.push_back(cell(fact + (advice.empty() ? "" : (fact.empty() ? "→ " : " → ") + advice)));
    } else {
      row.push_back(cell(fact));
      row.push_back(cell(advice));
    }
  }
};

report::Table ability_table(const doctor::Facts& facts, const Layout& layout) {
  report::Table table;
  table.name = "abilities";
  table.title = doctor::can_measure(facts) ? "What can be measured here"
                                           : "No training of ddpprof's own can be measured here yet";
  table.columns = {flag("can", "can"), text("what", "what")};
  layout.add_columns(table, "detail", "how far, or why not");
  table.key_columns = 2;
  for (const doctor::Ability& ability : doctor::abilities(facts)) {
    report::Row row{std::int64_t{ability.can}, ability.what};
    layout.add_cells(row, ability.detail, ability.advice);
    table.rows.push_back(std::move(row));
  }
  return table;
}

report::Table check_table(const doctor::Facts& facts, bool brief, const Layout& layout) {
  report::Table table;
  table.name = "checks";
  table.title = brief ? "What to check" : "What was found";
  table.note =
      "good: no effect on a measurement. note: it can change a measurement, or is unknown. bad: it makes a "
      "measurement invalid or impossible.";
  table.empty = "All checks are good.";
  table.columns = {text("verdict", "verdict"), text("area", "area"), text("what", "what")};
  layout.add_columns(table, "found", layout.together ? "found → what to do" : "found");
  table.key_columns = 3;
  for (const doctor::Check& check : doctor::make_checks(facts)) {
    if (brief && check.verdict == doctor::Verdict::good) continue;
    report::Row row{std::string(to_string(check.verdict)), check.area, check.what};
    layout.add_cells(row, check.found, check.advice);
    table.rows.push_back(std::move(row));
  }
  return table;
}

class Doctor final : public Subcommand {
 public:
  std::string_view name() const override { return "doctor"; }
  std::string_view summary() const override {
    return "Show what this machine can run and measure, and how to make the rest possible";
  }
  std::vector<std::string_view> examples() const override { return {"ddpprof doctor", "ddpprof doctor --format json"}; }

  void declare(CLI::App& app) override {
    with_words(app.add_option("--format", format_, format_help), formats)->type_name("FORMAT");
    app.add_option("--folder", options_.folder, "Folder for databases (default: the current folder)")
        ->type_name("FOLDER");
    app.add_flag("--brief", brief_, "Leave out checks that are good");
  }

  ExitCode run(Context& context) override {
    const report::Format format = checked_format(format_);
    const doctor::Facts facts = doctor::look(options_);
    const Layout layout{.together = format == report::Format::table};
    report::Report made{"doctor", "Doctor", {ability_table(facts, layout), check_table(facts, brief_, layout)}};
    render(made, format, context.out, style_of(context));
    return doctor::can_measure(facts) ? ExitCode::done : ExitCode::machine;
  }

 private:
  std::string format_ = "table";
  doctor::LookOptions options_;
  bool brief_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> make_doctor() { return std::make_unique<Doctor>(); }

}  // namespace ddpprof::cli
