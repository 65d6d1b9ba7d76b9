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

#include "analysis/report/render/render.hpp"
#include "analysis/report/report.hpp"
#include "simulator/units/units.hpp"
#include "tests/analysis/report/generated_database.hpp"
#include "tests/analysis/report/synthetic_run.hpp"

namespace ddpprof::report {
namespace {

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

// Returns the numbers of a sentence that are no cells.
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

const Table* table_named(const Report& report, std::string_view name) {
  const auto found = std::ranges::find(report.tables, name, &Table::name);
  return found == report.tables.end() ? nullptr : &*found;
}

template <class Value>
std::optional<Value> value(const Table& table, const Row& row, std::string_view column) {
  const auto* found = std::get_if<Value>(&cell_of(table, row, column));
  return found ? std::optional(*found) : std::nullopt;
}

struct Rate {
  double middle = 0.0, low = 0.0, high = 0.0;
  bool measured = false;
};

// Throughput by N with its interval, measured steps first; workers / step if some row has no throughput.
std::map<std::int64_t, Rate> rates(const Report& full, const std::string& strategy) {
  std::map<std::int64_t, Rate> throughput, by_step;
  for (const auto& [name, step] : {std::pair{"step", "step_median_s"}, {"predictions", "step_s"}})
    if (const Table* table = table_named(full, name))
      for (const Row& row : table->rows)
        if (value<std::string>(*table, row, "strategy") == strategy) {
          const auto workers = *value<std::int64_t>(*table, row, "workers");
          const double step_s = *value<double>(*table, row, step), low_s = *value<double>(*table, row, "step_low_s"),
                       high_s = *value<double>(*table, row, "step_high_s");
          const auto rate = [&](double middle) {
            return Rate{middle, middle * step_s / high_s, middle * step_s / low_s, std::string_view(name) == "step"};
          };
          const bool added = by_step.try_emplace(workers, rate(static_cast<double>(workers) / step_s)).second;
          if (const auto known = value<double>(*table, row, "throughput_samples_per_s"); known && added)
            throughput.emplace(workers, rate(*known));
        }
  return throughput.size() == by_step.size() ? throughput : by_step;
}

void expect_true_comparisons(const std::string& strategy, const std::string& text, const Report& full) {
  std::smatch found;
  const std::map<std::int64_t, Rate> all = rates(full, strategy);
  const auto best = std::ranges::max_element(all, {}, [](const auto& one) { return one.second.middle; });
  std::set<std::int64_t> rivals;
  for (const auto& [workers, rate] : all) {
    const Rate& first = best->second;
    const bool reaches =
        rate.measured || first.measured ? rate.high >= first.low : rate.high >= first.high || rate.low >= first.low;
    if (workers != best->first && reaches) rivals.insert(workers);
  }
  if (std::regex_search(text, found, std::regex("[Tt]hroughput is highest at N = (\\d+) "))) {
    EXPECT_EQ(std::stoll(found[1]), best->first) << text;
    EXPECT_EQ(text.find("the largest N here") != std::string::npos, best->first == all.rbegin()->first) << text;
    EXPECT_EQ(text.find("the smallest N here") != std::string::npos, best->first == all.begin()->first) << text;
  }
  EXPECT_EQ(text.find(" not increase throughput") != std::string::npos,
            all.size() > 1 && best->first == 1 && rivals.empty())
      << text;
  const bool rival = std::regex_search(text, found, std::regex("allow that N = (\\d+) is as fast"));
  EXPECT_EQ(rival, !rivals.empty() && all.size() > 1) << text;
  if (rival) {
    EXPECT_EQ(std::stoll(found[1]), *rivals.begin() < best->first ? *rivals.begin() : *rivals.rbegin()) << text;
  }
  const bool bound = std::regex_search(text, found, std::regex("Communication is more than half of the step from N = (\\d+) on"));
  const Table* knees = table_named(full, "knee");
  std::optional<std::int64_t> knee;
  if (knees != nullptr)
    for (const Row& row : knees->rows)
      if (value<std::string>(*knees, row, "strategy") == strategy && value<double>(*knees, row, "threshold") == 0.5)
        knee = value<std::int64_t>(*knees, row, "knee_workers");
  EXPECT_EQ(bound, knee.has_value()) << text;
  if (!bound) return;
  EXPECT_EQ(std::stoll(found[1]), *knee) << text;
  // The shares of the predictions agree with the knee: no N before it is communication-bound, and the knee is.
  const Table* predictions = table_named(full, "predictions");
  if (predictions == nullptr) return;
  for (const Row& row : predictions->rows) {
    const auto workers = *value<std::int64_t>(*predictions, row, "workers");
    if (value<std::string>(*predictions, row, "strategy") != strategy || workers < 2 || workers > *knee) continue;
    const double exposed =
        *value<double>(*predictions, row, "exposed_share") + *value<double>(*predictions, row, "skew_share");
    EXPECT_EQ(exposed > 0.5, workers == *knee) << text << " at N = " << workers << ": " << exposed;
  }
}

void expect_best_change(const std::string& strategy, const std::string& text, const Report& full) {
  std::smatch found;
  const Table* helps = table_named(full, "what_helps");
  ASSERT_NE(helps, nullptr);
  const auto largest = [&](const char* kind, double least_low) {
    std::optional<std::string> change;
    double most = 1.02;
    for (const Row& row : helps->rows)
      if (value<std::string>(*helps, row, "strategy") == strategy && value<std::string>(*helps, row, "kind") == kind &&
          *value<double>(*helps, row, "speedup") >= most && *value<double>(*helps, row, "speedup_low") >= least_low) {
        most = *value<double>(*helps, row, "speedup");
        change = value<std::string>(*helps, row, "change");
      }
    return change;
  };
  const auto setting = largest("setting", 1.0), machine = largest("machine", 1.0), likely = largest("setting", 0.0);
  EXPECT_EQ(text.find("no usual setting") == std::string::npos, setting.has_value()) << text;
  if (setting) {
    EXPECT_NE(text.find(*setting + ": "), std::string::npos) << text;
  }
  EXPECT_EQ(text.find("; uncertain: ") != std::string::npos, likely != setting) << text;
  if (likely != setting) {
    EXPECT_NE(text.find("; uncertain: " + *likely + ": "), std::string::npos) << text;
  }
  const auto larger_batch = [](const std::optional<std::string>& named) {
    return named && (named->starts_with("accumulation=") || named->starts_with("batch_per_worker="));
  };
  const bool larger = larger_batch(setting) || larger_batch(likely);
  EXPECT_EQ(text.find("with a larger global batch") != std::string::npos, larger) << text;
  EXPECT_EQ(text.find("other hardware: ") != std::string::npos, machine.has_value()) << text;
  if (machine) {
    EXPECT_NE(text.find("other hardware: " + *machine + ": "), std::string::npos) << text;
  }
}

// The headline names the middle of an interval only if the interval spans at most a factor of 3.
void expect_honest_headline(const std::string& strategy, const std::string& text, const Report& full) {
  const Table* predictions = table_named(full, "predictions");
  ASSERT_NE(predictions, nullptr);
  for (const Row& row : predictions->rows)
    if (value<std::string>(*predictions, row, "strategy") == strategy &&
        text.starts_with("N = " + std::to_string(*value<std::int64_t>(*predictions, row, "workers")) + ":")) {
      const bool wide =
          *value<double>(*predictions, row, "step_high_s") > 3.0 * *value<double>(*predictions, row, "step_low_s");
      const std::string middle = units::format_quantity(*value<double>(*predictions, row, "step_s"), "s");
      EXPECT_EQ(text.find(": " + middle + " per step (90") == std::string::npos, wide) << text;
    }
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
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    test::SyntheticRun run(path);
    const Made made = fill(run, dice);
    const Report screen =
        build_report(run.database, answer_report, metrics::OverlapRule::intersection, tables_of(made));
    const Report full = build_report(run.database, "summary", metrics::OverlapRule::intersection, tables_of(made));
    EXPECT_LE(line_count(screen), answer_lines);
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
      if (about.ends_with("scaling")) expect_true_comparisons(strategy, text, full);
      if (about.ends_with("is helped")) expect_best_change(strategy, text, full);
      if (about.ends_with("predicted")) expect_honest_headline(strategy, text, full);
      ++seen[about];
    }
    const Table* glance = table_named(screen, "at_a_glance");
    ASSERT_NE(glance, nullptr);
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
                            "dp predicted", "learning rate", "measure next"})
    EXPECT_GT(seen[about], 20) << about << ": the generator must make such databases";
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
    EXPECT_EQ(rows["ddp scaling"],
              "Throughput is highest at N = 8 (predicted, the largest N here). Communication is more than half of the step "
              "from N = 8 on.");
    EXPECT_EQ(rows["ddp is bound"], "At N = 8 bandwidth.");
    EXPECT_FALSE(rows.contains("learning rate")) << "no caller computed it";
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace ddpprof::report
