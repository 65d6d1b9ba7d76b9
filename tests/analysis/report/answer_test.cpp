// The report `answer` of 200 generated databases: every number is a cell of the full report, every comparison is true
// of its cells, and the text fits on a screen.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "analysis/report/answer/glance.hpp"
#include "analysis/report/render/render.hpp"
#include "analysis/report/report.hpp"
#include "simulator/units/units.hpp"
#include "tests/analysis/report/answer_claims.hpp"
#include "tests/analysis/report/generated_answers.hpp"
#include "tests/analysis/report/synthetic_run.hpp"
#include "tests/tiers.hpp"

namespace ddpprof::report {
namespace {

using namespace test_answers;

// The cells of a report by unit, as they are written in a sentence.
struct Cells {
  std::map<std::string, std::set<std::string>> numbers;  // by the text after the number
  std::set<std::string> words;                           // texts of cells, the longest first by use

  // Notes have clauses, which begin a sentence with a capital letter.
  void add_words(const std::string& text) {
    words.insert(text);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find("; ", at), text.size());
      std::string clause = text.substr(at, end - at);
      words.insert(clause);
      clause[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(clause[0])));
      words.insert(clause);
      at = end + 2;
    }
  }

  explicit Cells(const Report& report) {
    for (const Table& table : report.tables)
      for (const Row& row : table.rows)
        for (std::size_t i = 0; i < row.size(); ++i) {
          const Column& column = table.columns[i];
          if (const auto* whole = std::get_if<std::int64_t>(&row[i])) numbers[""].insert(std::to_string(*whole));
          if (const auto* text = std::get_if<std::string>(&row[i])) add_words(*text);
          const auto* real = std::get_if<double>(&row[i]);
          if (real == nullptr) continue;
          if (column.kind == Kind::share) {
            numbers["%"].insert(units::percent(*real, 3));
            numbers["%"].insert(units::format_significant(100.0 * *real, 3) + " %");
            if (column.name.ends_with("confidence"))
              numbers["%"].insert(std::to_string(std::lround(100.0 * *real)) + " %");
          } else if (column.unit == "s") {
            numbers["s"].insert(units::format_quantity(*real, "s"));
          } else {
            for (const int digits : {3, 4}) numbers[column.unit].insert(units::format_significant(*real, digits));
            numbers[column.unit].insert(fmt::format("{:.4g}", *real));
          }
        }
  }
};

// Returns the sentence without texts that are cells, and without the constants of the sentences themselves.
std::string without_words(std::string sentence, const Cells& cells) {
  std::vector<std::string> remove(cells.words.begin(), cells.words.end());
  remove.emplace_back("the throughput of N = 1");
  std::ranges::sort(remove, std::ranges::greater{}, &std::string::size);
  for (const std::string& text : remove) {
    if (text.size() < 6 || text.find_first_of("0123456789") == std::string::npos) continue;
    for (std::size_t at = 0; (at = sentence.find(text, at)) != std::string::npos;) sentence.erase(at, text.size());
  }
  return sentence;
}

// Returns the numbers of a sentence that are not in a cell.
std::vector<std::string> foreign_numbers(const std::string& sentence, const Cells& cells) {
  static const std::regex number(R"((\d+(?:\.\d+)?)( (?:ns|µs|ms|s\b|min|h\b|%|×|samples/s))?)");
  std::vector<std::string> foreign;
  const std::string rest = without_words(sentence, cells);
  for (auto at = std::sregex_iterator(rest.begin(), rest.end(), number); at != std::sregex_iterator(); ++at) {
    const std::string value = (*at)[1], unit = (*at)[2];
    const auto has = [&](const std::string& key, const std::string& text) {
      const auto found = cells.numbers.find(key);
      return found != cells.numbers.end() && found->second.contains(text);
    };
    bool known = false;
    if (unit.empty())
      known = has("", value) || has("×", value);  // of "3.9 × the throughput (3.7 to 4.0)" the second is a factor, too
    else if (unit == " %")
      known = has("%", value + unit);
    else if (unit == " ×")
      known = has("×", value);
    else if (unit == " samples/s")
      known = has("samples/s", value);
    else
      known = has("s", value + unit);
    if (!known) foreign.push_back(value + unit);
  }
  return foreign;
}

std::size_t line_count(const Report& report) {
  std::ostringstream text;
  render(report, Format::table, text);
  const std::string all = text.str();
  return static_cast<std::size_t>(std::ranges::count(all, '\n'));
}

TEST(Answer, AgreesWithTheFullReportOfGeneratedDatabases) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("ddpprof_answer_" + std::to_string(getpid()) + ".db");
  std::map<std::string, int> seen;  // rows of the answer
  // Kinds of databases are drawn anew for each seed, so every fifth one is a fair part.
  const std::uint64_t stride = test::long_tests() ? 1 : 5;
  for (std::uint64_t seed = 1; seed <= 200; seed += stride) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    test::SyntheticRun run(path);
    const Made made = fill(run, dice);
    const Report screen =
        build_report(run.database, answer_report, metrics::OverlapRule::intersection, tables_of(made));
    const Report full = build_report(run.database, "summary", metrics::OverlapRule::intersection, tables_of(made));
    EXPECT_LE(line_count(screen), answer_lines);
    const std::vector<metrics::Configuration> configurations = metrics::read_configurations(run.database.sql());
    const std::size_t kinds = main_warnings(run.database, configurations, 99).rows.size();
    const bool without_room = kinds > 0 && table_named(screen, "main_warnings") == nullptr;
    const std::string note = without_room ? "Warnings: " + std::to_string(kinds) + " (--report diagnostics). " : "";
    EXPECT_TRUE(screen.note.starts_with(note + "More: ")) << screen.note;
    if (without_room) ++seen["warnings without room"];
    const Cells cells(full);
    const Table* answer = table_named(screen, "answer");
    ASSERT_NE(answer, nullptr);
    ASSERT_FALSE(answer->rows.empty());
    const std::vector<Row>& whole = table_named(full, "answer")->rows;
    for (const Row& row : answer->rows) {
      const std::string about = std::get<std::string>(row[0]), text = std::get<std::string>(row[1]);
      const std::string strategy = about.substr(0, about.find(' '));
      EXPECT_NE(std::ranges::find(whole, row), whole.end()) << about << ": " << text;
      EXPECT_EQ(foreign_numbers(text, cells), std::vector<std::string>{}) << about << ": " << text;
      if (about.ends_with("scaling")) {
        expect_true_comparisons(strategy, text, full);
        expect_true_own_cores(strategy, text, full);
      }
      if (about.ends_with("is helped")) {
        expect_best_change(strategy, text, full);
        expect_true_less_than(strategy, text, full);
      }
      if (strategy == "ddp" || strategy == "dp") expect_named_steps(about, strategy, text, full);
      if (about == "learning rate" && made.batch_known) expect_true_rate(text, made.choice, full);
      for (const auto& [claim, marks] :
           std::map<std::string, std::string>{{"own cores", "with own cores for each rank it is"},
                                              {"also own cores", ", also with own cores for each rank"},
                                              {"half", "more than half of the step from"},
                                              {"rival", "is as fast"},
                                              {"less", "less throughput than"},
                                              {"base", ", from "},
                                              {"red", "this rate is too high"}})
        if (text.find(marks) != std::string::npos) ++seen[claim];
      if (about.ends_with("predicted")) expect_honest_headline(strategy, text, full);
      ++seen[about];
    }
    const Table* glance = table_named(screen, "at_a_glance");
    ASSERT_NE(glance, nullptr);
    expect_rows_of_named_workers(screen, full);
    for (const Row& row : glance->rows)
      for (std::size_t i = 0; i < row.size(); ++i)
        if (const auto* real = std::get_if<double>(&row[i])) {
          const Column& column = glance->columns[i];
          EXPECT_TRUE(std::ranges::any_of(full.tables,
                                          [&](const Table& table) {
                                            if (table.name == "at_a_glance") return false;
                                            for (const Row& other : table.rows)
                                              for (std::size_t j = 0; j < other.size(); ++j)
                                                if (table.columns[j].unit == column.unit &&
                                                    table.columns[j].kind == column.kind && other[j] == row[i])
                                                  return true;
                                            return false;
                                          }))
              << column.name << " " << *real;
        }
    if (const Table* warnings = table_named(screen, "main_warnings"))
      for (const Row& row : warnings->rows) {
        std::string message = std::get<std::string>(row[1]);
        message = message.substr(0, std::min(message.find(" …"), message.find(" (")));
        EXPECT_TRUE(std::ranges::any_of(cells.words, [&](const std::string& word) {
          return word.starts_with(message);
        })) << message;
      }
  }
  std::filesystem::remove(path);
  for (const char* about : {"ddp measured", "ddp predicted", "ddp scaling", "ddp is bound", "ddp is helped",
                            "dp predicted", "learning rate", "measure next", "own cores", "also own cores", "half", "rival", "base",
                            "red"})
    EXPECT_GT(seen[about], stride == 1 ? 20 : 0) << about << ": the generator must make such databases";
  if (stride == 1) {
    EXPECT_GT(seen["warnings without room"], 0);
  }
}

TEST(Answer, AShortTableOfStepsKeepsTheLargestMeasuredN) {
  std::vector<GlanceStep> steps;
  for (const std::int64_t workers : {1, 2, 4, 8, 16, 64}) {
    GlanceStep& step = steps.emplace_back();
    step.strategy = "ddp";
    step.workers = workers;
    step.measured = workers <= 4;
  }
  for (const std::int64_t workers : {1, 2, 4}) {
    GlanceStep& step = steps.emplace_back();
    step.strategy = "dp";
    step.workers = workers;
    step.measured = true;
  }
  for (std::size_t most = steps.size(); most >= 4; --most) {
    const Table table = glance_table(steps, most, {});
    std::set<std::pair<std::string, std::int64_t>> shown;
    for (const Row& row : table.rows) shown.insert({std::get<std::string>(row[0]), std::get<std::int64_t>(row[1])});
    EXPECT_EQ(shown.size(), most);
    for (const auto& [strategy, workers] : {std::pair("ddp", 4), std::pair("ddp", 64), std::pair("dp", 4)})
      EXPECT_TRUE(shown.contains({strategy, workers})) << strategy << " " << workers << " of " << most;
  }
}

TEST(Answer, TheNoteNamesTheIntervalOfEachMeasuredN) {
  std::vector<GlanceStep> steps;
  for (const auto& [workers, confidence] : {std::pair(1, 0.5), std::pair(2, 0.95), std::pair(8, 0.9)}) {
    GlanceStep& step = steps.emplace_back();
    step.strategy = "ddp";
    step.workers = workers;
    step.confidence = confidence;
    step.steps = 39;
    step.measured = workers <= 2;
  }
  EXPECT_EQ(glance_table(steps, 10, {}).note,
            "low, high: the 50 % interval of a measured median at N = 1, the 95 % interval of a measured median at N = 2, and "
            "the 90 % interval of a prediction.");
  steps.erase(steps.begin());
  EXPECT_EQ(glance_table(steps, 10, {}).note,
            "low, high: the 95 % interval of a measured median, and the 90 % interval of a prediction.");
}

TEST(Answer, TheTitleOfWarningsSaysHowManyThereAre) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("ddpprof_answer_warnings_" + std::to_string(getpid()) + ".db");
  {
    test::SyntheticRun run(path);
    run.fill();
    for (const char* code : {"rank_missing", "sizes_unknown", "cores_unknown", "device_idle", "drift"}) {
      store::DiagnosticRow row;
      row.severity = "warning";
      row.code = code;
      row.message = code;
      row.advice = "check it";
      store::Inserter<store::DiagnosticRow>(run.database).insert(row);
    }
    const Report screen = build_report(run.database, answer_report);
    const Report all = build_report(run.database, "summary");
    const Table* warnings = table_named(screen, "main_warnings");
    ASSERT_NE(warnings, nullptr);
    std::set<std::string> codes;
    const Table* notices = table_named(all, "notices");
    ASSERT_NE(notices, nullptr);
    for (const Row& row : notices->rows) codes.insert(*value<std::string>(*notices, row, "code"));
    codes.erase("prediction_uncertain");  // the answer has the interval itself
    EXPECT_GT(codes.size(), warnings->rows.size());
    EXPECT_EQ(warnings->title, fmt::format("Warnings that change the answer most ({} of {}; all: --report diagnostics)",
                                           warnings->rows.size(), codes.size()));
  }
  std::filesystem::remove(path);
}

// The expected values are those of synthetic_run.hpp's head: a median of 126.25 ms at N = 2, 200 ms at N = 8.
TEST(Answer, StatesTheNumbersOfASmallRun) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("ddpprof_answer_small_" + std::to_string(getpid()) + ".db");
  {
    test::SyntheticRun run(path);
    run.fill();
    const Report screen = build_report(run.database, answer_report);
    const Table* answer = table_named(screen, "answer");
    ASSERT_NE(answer, nullptr);
    std::map<std::string, std::string> rows;
    for (const Row& row : answer->rows) rows[std::get<std::string>(row[0])] = std::get<std::string>(row[1]);
    EXPECT_TRUE(rows["ddp measured"].starts_with("N = 2: 126 ms per step (range of 4 steps: 115 ms to 145 ms)"))
        << rows["ddp measured"];
    EXPECT_TRUE(
        rows["ddp predicted"].starts_with("N = 8: 200 ms per step (90 %: 180 ms to 230 ms), weak efficiency 50.0 %"))
        << rows["ddp predicted"];
    EXPECT_EQ(
        rows["ddp scaling"],
        "Throughput is highest at N = 8 (predicted, the largest N here). Communication as a whole is more than half of the step "
        "from N = 8 on.");
    EXPECT_EQ(rows["ddp is bound"], "At N = 8 bandwidth.");
    EXPECT_FALSE(rows.contains("learning rate")) << "no caller computed it";
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace ddpprof::report
