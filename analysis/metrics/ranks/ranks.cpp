#include "analysis/metrics/ranks/ranks.hpp"

#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <tuple>

#include "analysis/fit/measured/exposed_waits.hpp"
#include "analysis/metrics/conditions.hpp"
#include "simulator/stats/summary.hpp"
#include "simulator/units/units.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::metrics {
namespace {

double seconds(SQLite::Statement& row, int column) { return units::ns_to_s(row.getColumn(column).getDouble()); }

void read_head(SQLite::Database& db, RankTimes& times) {
  SQLite::Statement query(
      db,
      "SELECT m.strategy, m.world_size, m.repeat, (SELECT COUNT(*) FROM measurement o WHERE o.kind = m.kind AND "
      "o.strategy = m.strategy AND o.world_size = m.world_size AND o.model = m.model AND "
      "o.batch_per_worker = m.batch_per_worker AND o.accumulation = m.accumulation), EXISTS "
      "(SELECT 1 FROM diagnostic d WHERE d.measurement_id = m.id AND d.code IN (?2, ?3)) "
      "FROM measurement m WHERE m.id = ?1");
  query.bind(1, times.measurement);
  query.bind(2, store::device_not_recorded);
  query.bind(3, store::collective_kernels_unknown);
  if (!query.executeStep())
    throw std::invalid_argument("measurement " + std::to_string(times.measurement) + " is not in this file");
  times.strategy = query.getColumn(0).getString();
  times.workers = query.getColumn(1).getInt64();
  times.repeat = query.getColumn(2).getInt64();
  times.repeats = query.getColumn(3).getInt64();
  times.communication_known = query.getColumn(4).getInt() == 0;
}

void read_steps(SQLite::Database& db, RankTimes& times) {
  SQLite::Statement query(
      db,
      "SELECT st.rank, st.step, st.kind, COALESCE(st.aligned_start_ns, st.start_ns + sh.clock_offset_ns), "
      "st.duration_ns, st.compute_ns, st.communication_ns, "
      "st.overlapped_ns, st.exposed_ns, st.skew_ns, st.data_wait_ns + st.host_to_device_ns, sh.host, "
      "st.aligned_start_ns IS NOT NULL, COALESCE(st.device_idle_ns, 0), st.id "
      "FROM aligned_step st JOIN shard sh ON sh.id = st.shard_id WHERE st.measurement_id = ? ORDER BY st.step, "
      "st.rank");
  query.bind(1, times.measurement);
  std::map<std::int64_t, std::int64_t> waits_ns;  // by id of the step
  for (const fit::ExposedWait& wait : fit::exposed_waits(db, times.measurement))
    waits_ns.emplace(wait.step_id, wait.wait_ns);
  while (query.executeStep()) {
    RankStep step;
    step.rank = query.getColumn(0).getInt64();
    step.step = query.getColumn(1).getInt64();
    step.kind = query.getColumn(2).getString();
    step.begin_ns = query.getColumn(3).getInt64();
    step.end_ns = step.begin_ns + query.getColumn(4).getInt64();
    int column = 4;
    for (double* field : {&step.step_s, &step.compute_s, &step.communication_s, &step.overlapped_s, &step.exposed_s,
                          &step.skew_s, &step.input_s})
      *field = seconds(query, column++);
    times.hosts[step.rank] = query.getColumn(11).getString();
    step.host_s = seconds(query, 13);
    if (const auto wait = waits_ns.find(query.getColumn(14).getInt64()); wait != waits_ns.end())
      step.exposed_wait_s = units::ns_to_s(static_cast<double>(wait->second));
    step.aligned = query.getColumn(12).getInt() != 0;
    times.steps.push_back(std::move(step));
  }
}

void read_arrivals(SQLite::Database& db, RankTimes& times) {
  SQLite::Statement query(db,
                          "SELECT c.communicator, c.sequence, st.step, sh.rank, c.skew_ns FROM collective c "
                          "JOIN shard sh ON sh.id = c.shard_id JOIN step st ON st.id = c.step_id "
                          "WHERE sh.measurement_id = ? AND st.kind = 'measured' AND c.skew_ns IS NOT NULL "
                          "ORDER BY c.communicator, c.sequence, sh.rank");
  query.bind(1, times.measurement);
  struct Wait {
    std::int64_t rank;
    double wait_s;
  };
  std::vector<Wait> waits;
  std::pair<std::int64_t, std::int64_t> key;
  std::int64_t step = 0;
  const auto finish = [&] {
    const auto less = [](const Wait& a, const Wait& b) { return a.wait_s < b.wait_s; };
    const auto last = std::min_element(waits.begin(), waits.end(), less);
    // If several ranks waited least, the last one is unknown.
    if (waits.size() > 1 && std::ranges::count(waits, last->wait_s, &Wait::wait_s) == 1) {
      std::vector<double> others;
      for (const Wait& wait : waits)
        if (wait.rank != last->rank) others.push_back(wait.wait_s);
      times.arrivals.push_back({step, last->rank, stats::median(others)});
    }
    waits.clear();
  };
  while (query.executeStep()) {
    const std::pair here{query.getColumn(0).getInt64(), query.getColumn(1).getInt64()};
    if (here != key) finish();
    key = here;
    step = query.getColumn(2).getInt64();
    waits.push_back({query.getColumn(3).getInt64(), seconds(query, 4)});
  }
  finish();
}

}  // namespace

const char* to_string(RankPart part) {
  switch (part) {
    case RankPart::compute:
      return "compute alone";
    case RankPart::overlapped:
      return "overlapped";
    case RankPart::exposed:
      return "exposed";
    case RankPart::waiting:
      return "waiting for ranks";
    case RankPart::host:
      return "waiting for launches";
    case RankPart::input:
      return "input";
    case RankPart::other:
      return "other";
  }
  return "?";
}

std::array<double, rank_part_count> RankStep::parts() const {
  const double rest = std::max(0.0, step_s - compute_s - exposed_s);
  const double host = std::min(host_s, rest);
  const double input = std::min(input_s, rest - host);
  return {compute_s - overlapped_s, overlapped_s, exposed_s - exposed_wait_s, exposed_wait_s, host, input,
          rest - host - input};
}

RankTimes read_ranks(SQLite::Database& db, std::int64_t measurement) {
  RankTimes times;
  times.measurement = measurement;
  read_head(db, times);
  read_steps(db, times);
  times.waits_known =
      times.communication_known && (times.workers <= 1 || times.strategy == "dp" || times.hosts.size() != 1);
  if (times.workers > 1) read_arrivals(db, times);
  Conditions conditions = read_conditions(db);
  times.conditions = std::move(conditions[measurement]);
  return times;
}

RankTimes read_ranks(store::Database& database, std::int64_t measurement) {
  try {
    return read_ranks(database.sql(), measurement);
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

RankTimes within(const RankTimes& all, std::int64_t begin_ns, std::int64_t end_ns) {
  struct Middle {
    double sum = 0;
    std::int64_t ranks = 0;
  };
  std::map<std::int64_t, Middle> middles;
  for (const RankStep& step : all.steps) {
    if (!step.aligned) continue;
    Middle& middle = middles[step.step];
    // Relative to the start of the range, because a sum of absolute nanoseconds would lose digits.
    middle.sum +=
        static_cast<double>(step.begin_ns - begin_ns) + 0.5 * static_cast<double>(step.end_ns - step.begin_ns);
    ++middle.ranks;
  }
  const auto lies_in = [&](std::int64_t step) {
    const auto found = middles.find(step);
    if (found == middles.end()) return false;
    const double middle = found->second.sum / static_cast<double>(found->second.ranks);
    return middle >= 0.0 && middle < static_cast<double>(end_ns - begin_ns);
  };
  RankTimes some = all;
  std::erase_if(some.steps, [&](const RankStep& step) { return !lies_in(step.step); });
  std::erase_if(some.arrivals, [&](const Arrival& arrival) { return !lies_in(arrival.step); });
  return some;
}

StepRows complete_steps(const RankTimes& times) {
  StepRows rows;
  for (const RankStep& step : times.steps)
    if (step.kind == "measured") rows[step.step][step.rank] = &step;
  std::erase_if(rows, [&](const auto& entry) { return entry.second.size() < times.hosts.size(); });
  return rows;
}

std::map<std::int64_t, std::vector<const RankStep*>> measured_by_rank(const RankTimes& times) {
  std::map<std::int64_t, std::vector<const RankStep*>> by_rank;
  for (const RankStep& step : times.steps)
    if (step.kind == "measured") by_rank[step.rank].push_back(&step);
  return by_rank;
}

}  // namespace ddpprof::metrics
