#include "analysis/metrics/conditions.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "simulator/units/units.hpp"

namespace ddpprof::metrics {
namespace {

constexpr std::int64_t major_faults_most = 100;

std::optional<double> real_at(SQLite::Statement& row, int column) {
  if (row.getColumn(column).isNull()) return std::nullopt;
  return row.getColumn(column).getDouble();
}

std::optional<std::int64_t> integer_at(SQLite::Statement& row, int column) {
  if (row.getColumn(column).isNull()) return std::nullopt;
  return row.getColumn(column).getInt64();
}

std::optional<double> frequency_change(const store::HostConditionRow& row) {
  if (!row.frequency_begin_hz || !row.frequency_end_hz || !(*row.frequency_begin_hz > 0)) return std::nullopt;
  return *row.frequency_end_hz / *row.frequency_begin_hz - 1.0;
}

std::optional<double> mean_frequency(const store::HostConditionRow& row) {
  if (!row.frequency_begin_hz || !row.frequency_end_hz) return std::nullopt;
  return 0.5 * (*row.frequency_begin_hz + *row.frequency_end_hz);
}

// The kernel adds the waits of all processors up.
std::optional<double> quota_share(const store::HostConditionRow& row) {
  if (!row.quota_throttled_ns || row.window_ns <= 0) return std::nullopt;
  const auto processors = static_cast<double>(std::max<std::int64_t>(1, row.cpus.value_or(1)));
  return static_cast<double>(*row.quota_throttled_ns) / (static_cast<double>(row.window_ns) * processors);
}

std::optional<double> number(const std::optional<std::int64_t>& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

// The worst value over a configuration's measurements and hosts, and how many measurements exceed the limit.
struct Worst {
  double value = 0;
  std::set<std::int64_t> measurements;
  std::string host;
};

template <class Value>
Worst worst_of(const Configuration& configuration, const Conditions& conditions, double limit, Value&& value) {
  Worst worst;
  for (const std::int64_t id : configuration.measurements) {
    const auto found = conditions.find(id);
    if (found == conditions.end()) continue;
    for (const store::HostConditionRow& row : found->second) {
      const std::optional<double> one = value(row);
      if (!one || !(std::abs(*one) > limit)) continue;
      worst.measurements.insert(id);
      if (std::abs(*one) <= std::abs(worst.value)) continue;
      worst.value = *one;
      worst.host = row.host;
    }
  }
  return worst;
}

std::string where(const Configuration& configuration, const Worst& worst) {
  const std::size_t all = configuration.measurements.size();
  std::string text = worst.host.empty() ? "" : " on " + worst.host;
  if (all > 1) text += fmt::format(", in {} of {} repeats", worst.measurements.size(), all);
  return text;
}

}  // namespace

Conditions read_conditions(SQLite::Database& db) {
  Conditions all;
  SQLite::Statement q(
      db,
      "SELECT measurement_id, host, ranks, window_ns, cpus, ranks_share, others_share, interrupt_share, "
      "steal_share, frequency_begin_hz, frequency_end_hz, load_begin, load_end, thermal_throttles, "
      "quota_throttled_ns, voluntary_switches, involuntary_switches, major_faults FROM host_condition "
      "ORDER BY measurement_id, host");
  while (q.executeStep()) {
    store::HostConditionRow row;
    row.measurement_id = q.getColumn(0).getInt64();
    row.host = q.getColumn(1).getString();
    row.ranks = q.getColumn(2).getInt64();
    row.window_ns = q.getColumn(3).getInt64();
    row.cpus = integer_at(q, 4);
    int column = 5;
    for (auto* field : {&row.ranks_share, &row.others_share, &row.interrupt_share, &row.steal_share,
                        &row.frequency_begin_hz, &row.frequency_end_hz, &row.load_begin, &row.load_end})
      *field = real_at(q, column++);
    for (auto* field : {&row.thermal_throttles, &row.quota_throttled_ns, &row.voluntary_switches,
                        &row.involuntary_switches, &row.major_faults})
      *field = integer_at(q, column++);
    all[row.measurement_id].push_back(std::move(row));
  }
  return all;
}

std::vector<Disturbance> disturbances(const Configuration& c, const Conditions& conditions) {
  std::vector<Disturbance> found;
  const auto look = [&](const char* code, double limit, auto&& value, auto&& message, const char* advice) {
    const Worst worst = worst_of(c, conditions, limit, value);
    if (worst.measurements.empty()) return;
    found.push_back({code, message(worst.value) + where(c, worst) + ".", advice,
                     static_cast<std::int64_t>(worst.measurements.size())});
  };
  using Condition = store::HostConditionRow;
  look(
      "busy_machine", others_share_most, [](const Condition& row) { return row.others_share; },
      [](double v) {
        return "Other processes took " + units::percent_fixed(v) + " of the processors' time during the measurement";
      },
      "End these processes and measure again. ddpprof doctor lists them.");
  look(
      "steal_time", steal_share_most, [](const Condition& row) { return row.steal_share; },
      [](double v) {
        return "The hypervisor gave " + units::percent_fixed(v) + " of the processors' time to other machines";
      },
      "Use a dedicated host, or measure more repeats (measure.repeats).");
  look(
      "frequency_moved", frequency_change_most, frequency_change,
      [](double v) {
        return fmt::format("The processor's frequency {} by {} during the measurement", v > 0 ? "rose" : "fell",
                           units::percent_fixed(std::abs(v)));
      },
      "Set the governor to performance, or use a longer warm-up (measure.warmup_steps).");
  look(
      "too_hot", 0.0, [](const Condition& row) { return number(row.thermal_throttles); },
      [](double v) {
        return fmt::format("The processor's frequency was lowered because of heat: it was throttled {:.0f} time{}", v,
                           v == 1.0 ? "" : "s");
      },
      "Improve the cooling, or lower the frequency so that it stays constant. Then measure again.");
  look(
      "quota_throttled", quota_share_most, quota_share,
      [](double v) {
        return "The cgroup's CPU quota stopped threads for " + units::percent_fixed(v) + " of the processors' time";
      },
      "Assign whole cores (cpuset), raise the quota, or use fewer workers or threads (measure.threads_per_rank).");
  look(
      "paging", static_cast<double>(major_faults_most), [](const Condition& row) { return number(row.major_faults); },
      [](double v) { return fmt::format("The ranks waited for {:.0f} pages from a disk", v); },
      "Free memory or use fewer workers to avoid paging.");
  return found;
}

std::optional<Disturbance> frequencies_apart(const std::vector<Configuration>& all, const Conditions& conditions) {
  const Configuration* slow = nullptr;
  const Configuration* fast = nullptr;
  double least = 0, most = 0;
  for (const Configuration& c : all) {
    double sum = 0;
    int count = 0;
    for (const std::int64_t id : c.measurements) {
      const auto found = conditions.find(id);
      if (found == conditions.end()) continue;
      for (const store::HostConditionRow& row : found->second) {
        if (const auto frequency = mean_frequency(row)) sum += *frequency, ++count;
      }
    }
    if (count == 0) continue;
    const double frequency = sum / count;
    if (slow == nullptr || frequency < least) slow = &c, least = frequency;
    if (fast == nullptr || frequency > most) fast = &c, most = frequency;
  }
  if (slow == nullptr || slow == fast || !(most > least * (1.0 + frequency_change_most))) return std::nullopt;
  const auto name = [](const Configuration& c) { return fmt::format("{} N={}", c.strategy, c.world_size); };
  return Disturbance{
      "frequencies_differ",
      fmt::format("{} ran at {}, {} at {}. Part of the difference between them is due to the processor's frequency.",
                  name(*fast), units::format_quantity(most, "Hz"), name(*slow), units::format_quantity(least, "Hz")),
      "Switch off turbo or fix the frequency so that different N can be compared (ddpprof doctor describes how).", 1};
}

std::optional<Disturbance> threads_apart(const std::vector<Configuration>& all) {
  const auto ran = [](const Configuration& c) {
    return fmt::format("N={} ran with {} thread{} per rank", c.world_size, c.threads_per_rank,
                       c.threads_per_rank == 1 ? "" : "s");
  };
  for (const Configuration& few : all)
    for (const Configuration& many : all)
      if (few.kind != "train" && many.kind != "train" && few.device == "cpu" && many.device == "cpu" &&
          few.strategy == many.strategy && few.model == many.model && few.world_size < many.world_size &&
          few.threads_per_rank > 0 && many.threads_per_rank > 0 && few.threads_per_rank != many.threads_per_rank)
        return Disturbance{"threads_differ",
                           fmt::format("{} {}, {}. Part of the difference between them is due to the threads.",
                                       few.strategy, ran(few), ran(many)),
                           "Set OMP_NUM_THREADS to the same number at every N, and measure again: torchrun sets it to 1 if "
                           "it starts several ranks.",
                           1};
  return std::nullopt;
}

}  // namespace ddpprof::metrics
