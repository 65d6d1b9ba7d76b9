// Ranks compared with each other: compute, last arrivals in collectives, clocks.
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/metrics/ranks/rank_findings.hpp"
#include "analysis/metrics/ranks/ranks.hpp"
#include "analysis/report/tables/ranks/rank_tables.hpp"
#include "analysis/report/tables/ranks/skew.hpp"
#include "simulator/stats/summary.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {
namespace {

struct Times {
  std::vector<double> step, compute, skew;
  void add(const metrics::RankStep& one) {
    step.push_back(one.step_s);
    compute.push_back(one.compute_s);
    skew.push_back(one.skew_s);
  }
};

// Sums over the repeats of one configuration.
struct RankSums {
  std::string host;
  Times common, own;  // steps that every rank recorded; all steps of this rank
  std::vector<double> kept_waiting;
  double slowest = 0, last = 0;
};
struct ConfigurationSums {
  std::map<std::int64_t, RankSums> ranks;
  double steps = 0, collectives = 0;
};

void add(ConfigurationSums& sums, const metrics::RankTimes& times, bool collectives) {
  for (const auto& [rank, steps] : measured_by_rank(times)) {
    RankSums& of = sums.ranks[rank];
    of.host = times.hosts.at(rank);
    for (const metrics::RankStep* step : steps) of.own.add(*step);
  }
  for (const auto& [step, ranks] : complete_steps(times)) {
    for (const auto& [rank, one] : ranks) sums.ranks[rank].common.add(*one);
    const auto slowest = std::ranges::max_element(ranks, {}, [](const auto& one) { return one.second->compute_s; });
    sums.ranks[slowest->first].slowest += 1.0;
    sums.steps += 1.0;
  }
  if (!collectives) return;
  for (const metrics::Arrival& arrival : times.arrivals) {
    sums.collectives += 1.0;
    const auto rank = sums.ranks.find(arrival.last);
    if (rank == sums.ranks.end()) continue;  // ranks without measured steps have no row
    rank->second.last += 1.0;
    rank->second.kept_waiting.push_back(arrival.kept_waiting_s);
  }
}

}  // namespace

Table skew_table(const Source& source) {
  Table table = table_of_configurations(
      "skew", "Ranks compared with each other",
      "Medians over the measured steps that every rank recorded. Without such a step, medians are over each rank's own "
      "steps, and ranks are not compared. Against the mean = compute of the rank / mean over the ranks − 1. Waits: "
      "time in which collectives of the step wait for slower ranks (duration − shortest duration over the ranks; "
      "simultaneous collectives count once). Slowest: share of the steps in which the compute of this rank took "
      "longest (ties go to the lower rank). Last: share of the collectives in which this rank waited least, that is, "
      "arrived last. No clock is used for this, and collectives with several such ranks are left out. Kept waiting: "
      "the median wait of the other ranks in these collectives.");
  table.empty = no_measured_step;
  table.key_columns += 1;
  append(table, {count("rank", "rank"), text("host", "host", true), seconds("step_median_s", "step"),
                 seconds("compute_median_s", "compute"), share("compute_against_mean", "against the mean"),
                 seconds("skew_median_s", "waits"), share("slowest_share", "slowest"), share("last_share", "last"),
                 seconds("kept_waiting_s", "kept waiting")});
  for (const metrics::Configuration& c : source.configurations) {
    ConfigurationSums sums;
    for (const std::int64_t id : c.measurements)
      add(sums, metrics::read_ranks(source.db, id), c.world_size > 1 && c.strategy != "dp");
    const bool compared = sums.steps > 0;
    const auto of = [&](const RankSums& rank) -> const Times& { return compared ? rank.common : rank.own; };
    std::erase_if(sums.ranks, [&](const auto& rank) { return of(rank.second).step.empty(); });
    std::vector<double> computes;
    for (const auto& [number, rank] : sums.ranks) computes.push_back(stats::median(of(rank).compute));
    const double mean = computes.empty() ? 0.0 : stats::mean(computes);
    for (const auto& [number, rank] : sums.ranks) {
      const Times& times = of(rank);
      const double compute = stats::median(times.compute);
      Row row = configuration_cells(c);
      row.insert(row.end(),
                 {number, rank.host, stats::median(times.step), compute,
                  compared && mean > 0 ? Cell(compute / mean - 1.0) : Cell(),
                  c.communication_known ? Cell(stats::median(times.skew)) : Cell(), ratio(rank.slowest, sums.steps),
                  ratio(rank.last, sums.collectives), median_cell(rank.kept_waiting)});
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

Table straggler_table(const Source& source) {
  Table table;
  std::string all_summaries;
  for (const metrics::Configuration& c : source.configurations) {
    if (c.world_size < 2 || c.strategy == "dp" || c.measured.empty()) continue;
    for (const std::int64_t id : c.measurements) {
      const metrics::RankTimes times = metrics::read_ranks(source.db, id);
      const metrics::RankFindings findings = find_stragglers(times);
      Table one = stragglers_table(times, findings);
      if (table.name.empty()) {
        table = one;
        table.rows.clear();
        table.columns = configuration_columns();
        table.columns.push_back(text("repeat", "repeat", true));
        table.columns.back().kind = Kind::integer;
        table.key_columns += static_cast<int>(table.columns.size());
        append(table, std::move(one.columns));
      }
      for (Row& cells : one.rows) {
        Row row = configuration_cells(c);
        row.emplace_back(times.repeat);
        row.insert(row.end(), cells.begin(), cells.end());
        table.rows.push_back(std::move(row));
      }
      all_summaries += fmt::format("{}{} N={}{}: {}", all_summaries.empty() ? "" : " ", c.strategy, c.world_size,
                                   times.repeats > 1 ? fmt::format(" repeat {}", times.repeat) : "", findings.summary);
    }
  }
  table.name = "stragglers";
  table.title = "Stragglers";
  table.empty = all_summaries.empty()
                    ? "No measured step of two or more ranks. Import a trace of each rank, with marked steps."
                    : all_summaries;
  return table;
}

Table clocks_table(const Source& source) {
  Table table;
  table.name = "clocks";
  table.title = "Clocks relative to rank 0";
  table.note =
      "Time on rank 0's clock = time on the rank's clock + offset. Uncertainty: half of the smallest round trip; it "
      "grows by 100 ppm of the elapsed time if the drift is unknown, and is 0 for ranks that share a clock. Exchanged "
      "offset: the offset that the exchange of messages measured, for comparison if the clock is shared.";
  table.empty = "No rank was recorded.";
  table.columns = {text("strategy", "strategy"),
                   count("workers", "N", "workers"),
                   count("repeat", "repeat"),
                   count("rank", "rank"),
                   text("host", "host"),
                   count("pid", "pid"),
                   text("reference", "reference"),
                   seconds("offset_s", "offset"),
                   quantity("drift_ppb", "drift", "ns/s"),
                   seconds("uncertainty_s", "uncertainty"),
                   seconds("exchanged_offset_s", "exchanged offset")};
  table.columns[2].hide_constant = true;
  table.key_columns = 4;
  SQLite::Statement query(source.db,
                          "SELECT m.strategy, m.world_size, m.repeat, sh.rank, sh.host, sh.pid, sh.clock_reference, "
                          "sh.clock_offset_ns, sh.clock_drift_ppb, sh.clock_uncertainty_ns, sh.measured_offset_ns "
                          "FROM shard sh JOIN measurement m ON m.id = sh.measurement_id "
                          "ORDER BY m.kind, m.strategy, m.world_size, m.repeat, m.id, sh.rank, sh.id");
  while (query.executeStep()) {
    const auto nanoseconds = [&](int i) {
      return query.getColumn(i).isNull() ? Cell() : Cell(units::ns_to_s(query.getColumn(i).getDouble()));
    };
    table.rows.push_back({query.getColumn(0).getString(), query.getColumn(1).getInt64(), query.getColumn(2).getInt64(),
                          query.getColumn(3).getInt64(), query.getColumn(4).getString(), query.getColumn(5).getInt64(),
                          query.getColumn(6).getString(), nanoseconds(7), query.getColumn(8).getDouble(),
                          nanoseconds(9), nanoseconds(10)});
  }
  return table;
}

}  // namespace ddpprof::report
