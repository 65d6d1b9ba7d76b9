// Checks of what the sentences of the report `answer` claim, against the cells of the full report.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>

#include "analysis/report/report.hpp"
#include "analysis/report/tables/learning_rate/rate_choice.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report::test_answers {

inline const Table* table_named(const Report& report, std::string_view name) {
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
inline std::map<std::int64_t, Rate> rates(const Report& full, const std::string& strategy) {
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

inline void expect_true_comparisons(const std::string& strategy, const std::string& text, const Report& full) {
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
  const bool bound =
      std::regex_search(text, found, std::regex("ommunication as a whole is more than half of the step from N = (\\d+) on"));
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

inline void expect_best_change(const std::string& strategy, const std::string& text, const Report& full) {
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
  // The present value of the batch or the accumulation follows a change of it.
  const auto names = [&](const std::string& change) {
    return text.find(change + ": ") != std::string::npos || text.find(change + " instead of ") != std::string::npos;
  };
  const auto setting = largest("setting", 1.0), machine = largest("machine", 1.0), likely = largest("setting", 0.0);
  EXPECT_EQ(text.find("no usual setting") == std::string::npos, setting.has_value()) << text;
  if (setting) {
    EXPECT_TRUE(names(*setting)) << text;
  }
  EXPECT_EQ(text.find("; uncertain: ") != std::string::npos, likely != setting) << text;
  if (likely != setting) {
    EXPECT_TRUE(names("; uncertain: " + *likely)) << text;
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
inline void expect_honest_headline(const std::string& strategy, const std::string& text, const Report& full) {
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

// Step times by N, measured steps first, as the answer takes them.
inline std::map<std::int64_t, double> steps_s(const Report& full, const std::string& strategy,
                                              bool measured_only = false) {
  std::map<std::int64_t, double> steps;
  for (const auto& [name, step] : {std::pair{"step", "step_median_s"}, {"predictions", "step_s"}})
    if (const Table* table = table_named(full, name);
        table != nullptr && (name == std::string_view("step") || !measured_only))
      for (const Row& row : table->rows)
        if (value<std::string>(*table, row, "strategy") == strategy)
          steps.try_emplace(*value<std::int64_t>(*table, row, "workers"), *value<double>(*table, row, step));
  return steps;
}

// The N that is fastest with own cores: of the steps of dedicated_predictions, and of the other steps for other N.
inline void expect_true_own_cores(const std::string& strategy, const std::string& text, const Report& full) {
  std::map<std::int64_t, double> steps = steps_s(full, strategy);
  bool differ = false;
  if (const Table* table = table_named(full, "dedicated_predictions"))
    for (const Row& row : table->rows)
      if (value<std::string>(*table, row, "strategy") == strategy)
        if (const auto at = steps.find(*value<std::int64_t>(*table, row, "workers")); at != steps.end()) {
          at->second = *value<double>(*table, row, "step_s");
          differ = true;
        }
  const auto best =
      std::ranges::max_element(steps, {}, [](const auto& one) { return static_cast<double>(one.first) / one.second; });
  std::smatch found;
  const bool named = std::regex_search(
      text, found,
      std::regex("(?:N = (\\d+)[^;.]*, also with own cores for each rank|with own cores for each rank it is probably N = "
                 "(\\d+))"));
  EXPECT_EQ(named, differ && steps.size() > 1) << text;
  EXPECT_EQ(text.starts_with("On these cores, "), named) << text;
  if (named) {
    EXPECT_EQ(std::stoll(found[1].matched ? found[1] : found[2]), best->first) << text;
    std::smatch fastest;
    EXPECT_TRUE(std::regex_search(text, fastest, std::regex("N = (\\d+)"))) << text;
    // The same N is not named twice, unless another N that may be as fast stands between.
    if (text.find("is as fast") == std::string::npos) {
      EXPECT_EQ(found[1].matched, std::stoll(fastest[1]) == best->first) << text;
    }
  }
}

// The sentences name the largest measured and the largest predicted N, and each term that limits a step is a cell.
inline void expect_named_steps(const std::string& about, const std::string& strategy, const std::string& text,
                               const Report& full) {
  const std::map<std::int64_t, double> all = steps_s(full, strategy), measured = steps_s(full, strategy, true);
  std::smatch found;
  if (about.ends_with("measured") || about.ends_with("predicted")) {
    ASSERT_TRUE(std::regex_search(text, found, std::regex("^N = (\\d+)"))) << text;
    EXPECT_EQ(std::stoll(found[1]), (about.ends_with("measured") ? measured : all).rbegin()->first) << text;
  }
  if (!about.ends_with("is bound")) return;
  const Table* predictions = table_named(full, "predictions");
  ASSERT_NE(predictions, nullptr);
  static const std::regex bound("[Aa]t N = (\\d+) (\\w+)");
  int named = 0;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), bound); at != std::sregex_iterator(); ++at, ++named) {
    const std::int64_t workers = std::stoll((*at)[1]);
    EXPECT_TRUE(std::ranges::any_of(predictions->rows, [&](const Row& row) {
      return value<std::string>(*predictions, row, "strategy") == strategy &&
             value<std::int64_t>(*predictions, row, "workers") == workers &&
             value<std::string>(*predictions, row, "bound") == (*at)[2].str();
    })) << text;
  }
  EXPECT_GT(named, 0) << text;
}

// "less throughput than N = 2": a measured N whose throughput is above that of the named N after the change.
inline void expect_true_less_than(const std::string& strategy, const std::string& text, const Report& full) {
  std::smatch found, change;
  const bool named = std::regex_search(text, found, std::regex("less throughput than N = (\\d+)"));
  if (!named) return;
  ASSERT_TRUE(std::regex_search(text, change, std::regex("^At N = (\\d+) ([^:]+): ")));
  const Table* helps = table_named(full, "what_helps");
  double speedup = 0.0;
  for (const Row& row : helps->rows)
    if (value<std::string>(*helps, row, "strategy") == strategy &&
        value<std::string>(*helps, row, "change") == change[2].str())
      speedup = *value<double>(*helps, row, "speedup");
  const std::map<std::int64_t, Rate> all = rates(full, strategy);
  const Rate &other = all.at(std::stoll(found[1])), &own = all.at(std::stoll(change[1]));
  EXPECT_TRUE(other.measured) << text;
  EXPECT_GT(other.middle, speedup * own.middle) << text;
}

// The base of the rate, its rule and the largest N with a rate.
inline void expect_true_rate(const std::string& text, const RateChoice& choice, const Report& full) {
  const Table* table = table_named(full, "rate_choice");
  ASSERT_NE(table, nullptr);
  ASSERT_FALSE(table->rows.empty());
  const Row& last = table->rows.back();
  const auto has_rate = [&](const Row& row) { return value<double>(*table, row, choice.base_known ? "lr" : "factor"); };
  std::smatch found;
  static const std::regex base("from ([0-9.e+-]+) at a global batch of (\\d+)"),
      asked("tuned at a global batch of (\\d+): ddpprof lr FILE.db --workers (\\d+) "),
      smaller("with a rate: N = (\\d+),");
  const bool from = std::regex_search(text, found, base);
  EXPECT_EQ(from, choice.base_known && has_rate(last).has_value()) << text;
  if (from) {
    EXPECT_EQ(found[1].str(), fmt::format("{:.4g}", choice.options.base_lr)) << text;
    EXPECT_EQ(std::stoll(found[2]), choice.options.base_batch()) << text;
  }
  if (std::regex_search(text, found, asked)) {
    EXPECT_FALSE(choice.base_known && has_rate(last)) << text;
    EXPECT_EQ(std::stoll(found[1]), choice.options.base_batch()) << text;
    EXPECT_EQ(std::stoll(found[2]), *value<std::int64_t>(*table, last, "workers")) << text;
  }
  if (choice.adaptive) {
    EXPECT_EQ(value<std::string>(*table, last, "rule") == "linear", !*choice.adaptive) << text;
    EXPECT_NE(text.find(" rule for " + choice.optimizer), std::string::npos) << text;
  }
  static const std::regex red("too high: from a global batch of (\\d+) on");
  const bool is_red = value<std::string>(*table, last, "linear_rule") == "red";
  EXPECT_EQ(std::regex_search(text, found, red), is_red) << text;
  if (is_red) {
    EXPECT_LE(std::stoll(found[1]), *value<std::int64_t>(*table, last, "global_batch_samples")) << text;
    EXPECT_FALSE(choice.adaptive.value_or(false)) << text;
  }
  if (std::regex_search(text, found, smaller)) {
    std::int64_t largest = 0;
    for (const Row& row : table->rows)
      if (has_rate(row)) largest = std::max(largest, *value<std::int64_t>(*table, row, "workers"));
    EXPECT_FALSE(has_rate(last)) << text;
    EXPECT_EQ(std::stoll(found[1]), largest) << text;
  }
}

// The table has a row for every N that the sentences name. On a full screen other rows are left out first: those
// between the ends of a strategy that no sentence names.
inline void expect_rows_of_named_workers(const Report& screen, const Report& full) {
  const Table& glance = *table_named(screen, "at_a_glance");
  using Places = std::map<std::string, std::set<std::int64_t>>;
  Places known, shown;
  for (const char* strategy : {"ddp", "dp"})
    for (const auto& [workers, step_s] : steps_s(full, strategy)) known[strategy].insert(workers);
  const auto named_in = [&](const Table& answer) {
    static const std::regex workers_text("N = (\\d+)");
    Places named;
    for (const Row& row : answer.rows) {
      const std::string about = std::get<std::string>(row[0]), text = std::get<std::string>(row[1]);
      for (auto at = std::sregex_iterator(text.begin(), text.end(), workers_text); at != std::sregex_iterator(); ++at)
        for (const auto& [strategy, workers] : known)
          if (about.starts_with(strategy + " ") || (!about.starts_with("ddp ") && !about.starts_with("dp ")))
            if (workers.contains(std::stoll((*at)[1]))) named[strategy].insert(std::stoll((*at)[1]));
    }
    return named;
  };
  // Sentences that were left out later had a say in the rows, too.
  Places named = named_in(*table_named(screen, "answer")), first_named = named_in(*table_named(full, "answer"));
  for (const Row& row : glance.rows)
    shown[*value<std::string>(glance, row, "strategy")].insert(*value<std::int64_t>(glance, row, "workers"));
  bool missing = false;
  for (const auto& [strategy, workers] : named) missing = missing || !std::ranges::includes(shown[strategy], workers);
  if (!missing) return;
  for (const auto& [strategy, workers] : shown) {
    const std::map<std::int64_t, double> measured = steps_s(full, strategy, true);
    for (const std::int64_t one : workers)
      EXPECT_TRUE(one == *workers.begin() || one == *workers.rbegin() ||
                  (!measured.empty() && one == measured.rbegin()->first) || first_named[strategy].contains(one))
          << strategy << " at N = " << one << " has a row, and an N that is named has none";
  }
}

}  // namespace ddpprof::report::test_answers
