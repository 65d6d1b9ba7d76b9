// Collectives of A and B, matched by operation and size.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/metrics/row_scan.hpp"
#include "analysis/report/tables/compare/compare_parts.hpp"
#include "simulator/stats/summary.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {
namespace {

// One operation and size, over the ranks.
struct Kind {
  std::vector<double> step_s;  // same index as Configuration::measured; trailing steps without calls are omitted
  std::int64_t calls = 0, matched = 0;                // matched: calls that all ranks recorded
  double duration_s = 0, transfer_s = 0, skew_s = 0;  // sums
};
using OpAndBytes = std::pair<std::string, std::int64_t>;

struct Collectives {
  std::map<OpAndBytes, Kind> kinds;
  std::vector<std::int64_t> ranks;  // number of ranks by measured step
  std::int64_t rank_steps() const {
    std::int64_t sum = 0;
    for (const std::int64_t count : ranks) sum += count;
    return sum;
  }
};

using Places = std::map<std::pair<std::int64_t, std::int64_t>, std::pair<std::size_t, std::size_t>>;

std::vector<Collectives> read_collectives(const Source& source,
                                          const std::vector<const metrics::Configuration*>& configurations,
                                          const metrics::Stopped& stopped) {
  std::vector<Collectives> all(configurations.size());
  Places places;  // (measurement, step) → (configuration, index of the step)
  for (std::size_t c = 0; c < configurations.size(); ++c) {
    all[c].ranks.resize(configurations[c]->measured.size());
    for (std::size_t i = 0; i < configurations[c]->measured.size(); ++i)
      places[{configurations[c]->measured[i].measurement, configurations[c]->measured[i].step}] = {c, i};
  }
  const auto place_of = [&](sqlite3_stmt* row) {
    return places.find({sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1)});
  };
  metrics::each_row(
      source.db,
      "SELECT sh.measurement_id, st.step, COUNT(*) FROM step st JOIN shard sh ON sh.id = st.shard_id WHERE st.kind "
      "= 'measured' GROUP BY sh.measurement_id, st.step",
      stopped, [&](sqlite3_stmt* row) {
        if (const auto place = place_of(row); place != places.end())
          all[place->second.first].ranks[place->second.second] = sqlite3_column_int64(row, 2);
      });
  const auto in_s = [](sqlite3_stmt* row, int column) {
    return units::ns_to_s(std::int64_t{sqlite3_column_int64(row, column)});
  };
  metrics::each_row(
      source.db,
      "SELECT sh.measurement_id, st.step, c.op, c.bytes, c.end_ns - c.start_ns, c.transfer_ns, c.skew_ns FROM "
      "collective c JOIN step st ON st.id = c.step_id JOIN shard sh ON sh.id = c.shard_id WHERE st.kind = "
      "'measured' AND c.start_ns IS NOT NULL AND c.end_ns IS NOT NULL",
      stopped, [&](sqlite3_stmt* row) {
        const auto place = place_of(row);
        if (place == places.end()) return;
        const auto& [configuration, step] = place->second;
        Kind& kind =
            all[configuration]
                .kinds[{reinterpret_cast<const char*>(sqlite3_column_text(row, 2)), sqlite3_column_int64(row, 3)}];
        if (kind.step_s.size() <= step) kind.step_s.resize(step + 1);
        kind.step_s[step] += in_s(row, 4);
        kind.duration_s += in_s(row, 4);
        ++kind.calls;
        if (sqlite3_column_type(row, 5) == SQLITE_NULL) return;
        ++kind.matched;
        kind.transfer_s += in_s(row, 5);
        kind.skew_s += in_s(row, 6);
      });
  return all;
}

Samples per_step(const Collectives& of, const Kind* kind, const metrics::Configuration& configuration) {
  std::map<std::int64_t, std::vector<double>> values;
  for (std::size_t i = 0; i < of.ranks.size(); ++i) {
    if (of.ranks[i] == 0) continue;
    const double sum_s = kind != nullptr && i < kind->step_s.size() ? kind->step_s[i] : 0.0;
    values[configuration.measured[i].measurement].push_back(sum_s / static_cast<double>(of.ranks[i]));
  }
  Samples all;
  for (auto& [measurement, one] : values) all.push_back(std::move(one));
  return all;
}

// Means over the calls of all ranks; unknown without calls.
Cell mean(double sum_s, const Kind* kind, std::int64_t Kind::*count) {
  return kind != nullptr && kind->*count > 0 ? Cell(sum_s / static_cast<double>(kind->*count)) : Cell();
}

struct Compared {
  Difference difference;
  OpAndBytes key;
  const Kind* a;
  const Kind* b;
  double calls_a, calls_b;
  double of_step;  // (B − A) / A's step, with means
};

std::vector<Compared> compared(const Pair& pair, const Collectives& a, const Collectives& b) {
  std::map<OpAndBytes, std::pair<const Kind*, const Kind*>> kinds;
  for (const auto& [key, kind] : a.kinds) kinds[key].first = &kind;
  for (const auto& [key, kind] : b.kinds) kinds[key].second = &kind;
  std::vector<Compared> all;
  for (const auto& [key, both] : kinds) {
    const auto& [in_a, in_b] = both;
    const Samples samples_a = per_step(a, in_a, *pair.a), samples_b = per_step(b, in_b, *pair.b);
    std::optional<Difference> d = judged_work(pair, key.first, samples_a, samples_b);
    if (!d) d = Difference{&pair, key.first, 0, 0, {}, cannot_tell, took_no_time};
    if (in_b == nullptr) std::tie(d->verdict, d->why) = judged_only(samples_a, samples_b, "A");
    if (in_a == nullptr) std::tie(d->verdict, d->why) = judged_only(samples_b, samples_a, "B");
    const auto calls = [](const Kind* kind, const Collectives& of) {
      return kind == nullptr ? 0.0 : static_cast<double>(kind->calls) / static_cast<double>(of.rank_steps());
    };
    all.push_back({std::move(*d), key, in_a, in_b, calls(in_a, a), calls(in_b, b),
                   pair.step_a_s > 0 ? (mean_of(samples_b) - mean_of(samples_a)) / pair.step_a_s : 0.0});
  }
  return all;
}

Row row_of(const Compared& one) {
  const Difference& d = one.difference;
  Row row = configuration_cells(*d.pair->a);
  const auto& [op, bytes] = one.key;
  row.insert(row.end(), {op_text(op, d.pair->a->world_size), bytes > 0 ? Cell(bytes) : Cell(), d.verdict, d.a_s, d.b_s,
                         d.b_s - d.a_s, one.of_step, one.calls_a, one.calls_b});
  for (const auto& [sum, count] : {std::pair{&Kind::duration_s, &Kind::calls},
                                   {&Kind::transfer_s, &Kind::matched},
                                   {&Kind::skew_s, &Kind::matched}})
    for (const Kind* kind : {one.a, one.b}) row.push_back(mean(kind == nullptr ? 0.0 : kind->*sum, kind, count));
  if (d.ratio)
    row.insert(row.end(), {d.ratio->mid, d.ratio->low, d.ratio->high});
  else
    row.insert(row.end(), {Cell(), Cell(), Cell()});
  row.emplace_back(d.why);
  return row;
}

}  // namespace

Table compare_collectives_table(const Source& a, const Source& b, const Paired& paired,
                                const std::function<bool()>& stopped) {
  Table table;
  table.name = "compare_collectives";
  table.title = "Collectives by size";
  table.note =
      "Collectives are matched by operation and bytes; collectives without a recorded size form one group. A, B: sum "
      "of durations per step and rank, including waits for slower ranks; simultaneous collectives are counted "
      "separately. The value is the median over the measured steps, or the mean if most steps of a file have no such "
      "collective. Calls: per rank and step. Duration, transfer (shortest duration over the ranks) and skew (duration "
      "− transfer) are means over calls and ranks; transfer and skew only for collectives that all ranks recorded. "
      "Verdicts as in \"Where the time differs\"; with 3 to 5 steps the interval is Student's. Sorted by |difference "
      "of the means| / A's step.";
  table.empty = "No collective was recorded in a measured step of a configuration that both files have.";
  table.columns = configuration_columns();
  for (Column& column : table.columns) column.hide_constant = true;  // usually there is only one configuration
  for (Column& column : std::vector<Column>{text("op", "op"), count("bytes", "size", "bytes")})
    table.columns.push_back(std::move(column));
  table.key_columns = static_cast<int>(table.columns.size());
  for (Column& column : std::vector<Column>{
           text("verdict", "verdict"), digits(seconds("a_s", "A"), 4), digits(seconds("b_s", "B", "a_s"), 4),
           digits(seconds("difference_s", "B − A", "a_s"), 3), share("difference_of_step", "of A's step"),
           digits(quantity("a_calls", "calls in A", ""), 4), digits(quantity("b_calls", "in B", ""), 4),
           digits(seconds("a_duration_s", "duration in A"), 4),
           digits(seconds("b_duration_s", "in B", "a_duration_s"), 4),
           digits(seconds("a_transfer_s", "transfer in A", "a_duration_s"), 4),
           digits(seconds("b_transfer_s", "in B", "a_duration_s"), 4),
           digits(seconds("a_skew_s", "skew in A", "a_duration_s"), 4),
           digits(seconds("b_skew_s", "in B", "a_duration_s"), 4), digits(quantity("ratio", "B / A", "×"), 3),
           digits(quantity("ratio_low", "low", "×"), 3), digits(quantity("ratio_high", "high", "×"), 3),
           prose("why", "why")})
    table.columns.push_back(std::move(column));
  std::vector<const metrics::Configuration*> of_a, of_b;
  for (const Pair& pair : paired.both) {
    of_a.push_back(pair.a);
    of_b.push_back(pair.b);
  }
  const auto read = [&](const Source& file, const std::vector<const metrics::Configuration*>& configurations) {
    return reading(file, [&](const Source& source) { return read_collectives(source, configurations, stopped); });
  };
  const std::vector<Collectives> in_a = read(a, of_a), in_b = read(b, of_b);
  std::vector<Compared> all;
  for (std::size_t i = 0; i < paired.both.size(); ++i) {
    if (stopped()) return table;
    if (!paired.both[i].has_steps()) continue;
    for (Compared& one : compared(paired.both[i], in_a[i], in_b[i])) all.push_back(std::move(one));
  }
  std::ranges::stable_sort(all, std::greater{}, [](const Compared& one) { return std::abs(one.of_step); });
  for (const Compared& one : all) table.rows.push_back(row_of(one));
  return table;
}

}  // namespace ddpprof::report
