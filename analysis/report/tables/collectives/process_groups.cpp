// Communication by process group: data parallel, tensor parallel, … groups of a job, with their descriptions.
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "analysis/metrics/group_times.hpp"
#include "analysis/report/tables/collectives/collectives.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {
namespace {

constexpr const char* every_op = "all";  // of the row with all operations of a group

// Sums over the measured steps of all ranks.
struct Exchanged {
  std::set<std::pair<std::int64_t, std::int64_t>> communicators;  // by measurement

  std::int64_t groups() const {
    std::set<std::int64_t> distinct;
    for (const auto& [measurement, communicator] : communicators) distinct.insert(communicator);
    return static_cast<std::int64_t>(distinct.size());
  }
  std::set<std::int64_t> peers;
  double collectives = 0, bytes = 0, duration_ns = 0, skew_ns = 0;
  double waited = 0, waits_known = 0;  // calls that waited, and calls of which this is known
  double largest_split = 0;

  void add(const Exchanged& other) {
    communicators.insert(other.communicators.begin(), other.communicators.end());
    peers.insert(other.peers.begin(), other.peers.end());
    collectives += other.collectives;
    bytes += other.bytes;
    duration_ns += other.duration_ns;
    skew_ns += other.skew_ns;
    waited += other.waited;
    waits_known += other.waits_known;
    largest_split = std::max(largest_split, other.largest_split);
  }
};

using Key = std::tuple<std::string, std::string, std::int64_t, std::string>;  // description, name, size, operation

// Returns the number of measured steps of all ranks, by measurement.
std::map<std::int64_t, double> rank_steps(const Source& source) {
  std::map<std::int64_t, double> steps;
  SQLite::Statement query(source.db,
                          "SELECT sh.measurement_id, COUNT(*) FROM step st JOIN shard sh ON sh.id = st.shard_id WHERE "
                          "st.kind = 'measured' GROUP BY sh.measurement_id");
  while (query.executeStep()) steps[query.getColumn(0).getInt64()] = query.getColumn(1).getDouble();
  return steps;
}

Cell known_text(const std::string& text) { return text.empty() ? Cell() : Cell(text); }

// Exposed communication of a configuration, by measurement, communicator and operation.
struct GroupExposed {
  double steps = 0;  // of all ranks whose intervals are known
  std::map<std::tuple<std::int64_t, std::int64_t, std::string>, double> sums_ns;

  Cell seconds(const Exchanged& row, const std::string& op) const {
    if (steps <= 0) return {};
    double sum_ns = 0;
    for (const auto& [measurement, communicator] : row.communicators)
      if (const auto found = sums_ns.find({measurement, communicator, op}); found != sums_ns.end())
        sum_ns += found->second;
    return units::ns_to_s(sum_ns) / steps;
  }
};

std::map<std::size_t, GroupExposed> exposed_by_configuration(const Source& source,
                                                             const std::map<std::int64_t, std::size_t>& of) {
  std::map<std::size_t, GroupExposed> all;
  for (const metrics::RankCommunication& rank : metrics::rank_communication(source.db)) {
    const auto found = of.find(rank.measurement);
    if (found == of.end()) continue;
    GroupExposed& exposed = all[found->second];
    exposed.steps += static_cast<double>(rank.steps);
    const auto add = [&](std::int64_t communicator, const std::string& op, const metrics::Communicated& time) {
      exposed.sums_ns[{rank.measurement, communicator, op}] += static_cast<double>(time.exposed_ns);
    };
    for (const auto& [communicator, time] : rank.groups) add(communicator, every_op, time);
    for (const auto& [key, time] : rank.operations) add(key.first, key.second, time);
  }
  return all;
}

}  // namespace

Table process_groups_table(const Source& source) {
  Table table = table_of_configurations(
      "process_groups", "Communication by process group",
      "Values are of one rank's measured step, on average. Bytes of a step: of all calls together. Time = sum of the "
      "durations of the collectives, which may "
      "overlap; it includes waiting (skew) for slower ranks. Exposed: time in which the group communicates and the "
      "rank "
      "does not compute; simultaneous collectives count once. Groups: the number of groups with this description. No "
      "group: the trace does not name the groups of these collectives. "
      "Waiting calls: share of the calls that return when the collective has ended. Peers: ranks within the group to "
      "which sends go, and from which receives come. Largest split: the largest part of an all-to-all / the mean "
      "part.");
  table.empty = "No collective of an imported trace. Only imports have communication by process group.";
  append(table, {text("group", "group"), text("name", "name", true), count("size", "ranks", "ranks"),
                 count("groups", "groups"), text("op", "op"), quantity("collectives_per_step", "calls", ""),
                 quantity("bytes_per_step", "bytes of a step", "bytes"), seconds("time_s", "time"),
                 seconds("skew_s", "skew", "time_s"), seconds("exposed_s", "exposed", "time_s"),
                 share("waiting_share", "waiting calls"), text("peers", "peers"),
                 quantity("largest_split", "largest split", "×")});
  if (timed_without_profiler(source)) {
    table.note += " Recorded jobs: the steps are those with the profiler.";
    for (Column& column : table.columns)
      if (column.name == "exposed_s") column.title = "exposed, with profiler";
  }
  table.key_columns += 5;
  const std::map<std::int64_t, double> steps = rank_steps(source);
  const auto of = configuration_of_measurement(source);
  std::map<std::size_t, std::map<Key, Exchanged>> all;
  std::map<std::size_t, double> all_steps;
  for (const auto& [measurement, count] : steps)
    if (const auto found = of.find(measurement); found != of.end()) all_steps[found->second] += count;
  SQLite::Statement query(
      source.db,
      "SELECT sh.measurement_id, COALESCE(g.description, ''), COALESCE(g.name, ''), COALESCE(g.size, 0), c.op, "
      "c.communicator, COUNT(*), "
      "SUM(c.bytes), COALESCE(SUM(c.end_ns - c.start_ns), 0), COALESCE(SUM(c.skew_ns), 0), SUM(c.asynchronous = 0), "
      "COUNT(c.asynchronous), COALESCE(MAX(c.largest_split), 0), c.peer FROM collective c JOIN step st ON st.id = "
      "c.step_id JOIN shard sh ON sh.id = c.shard_id JOIN measurement m ON m.id = sh.measurement_id LEFT JOIN "
      "process_group g ON g.measurement_id = sh.measurement_id AND g.communicator = c.communicator WHERE st.kind = "
      "'measured' AND m.kind = 'import' GROUP BY sh.measurement_id, c.communicator, c.op, "
      "c.peer ORDER BY sh.measurement_id, c.communicator, c.op, c.peer");
  while (query.executeStep()) {
    const auto found = of.find(query.getColumn(0).getInt64());
    if (found == of.end()) continue;
    const std::string description = query.getColumn(1).getString();
    // The groups of a mesh have one description and a number each as their names.
    const std::string name = description.empty() ? query.getColumn(2).getString() : "";
    Exchanged& sums =
        all[found->second][{description, name, query.getColumn(3).getInt64(), query.getColumn(4).getString()}];
    sums.communicators.emplace(found->first, query.getColumn(5).getInt64());
    int column = 6;
    for (double* sum :
         {&sums.collectives, &sums.bytes, &sums.duration_ns, &sums.skew_ns, &sums.waited, &sums.waits_known})
      *sum += query.getColumn(column++).getDouble();
    sums.largest_split = std::max(sums.largest_split, query.getColumn(column++).getDouble());
    if (!query.getColumn(column).isNull()) sums.peers.insert(query.getColumn(column).getInt64());
  }
  for (auto& [index, groups] : all) {
    std::map<Key, std::pair<Exchanged, int>> whole;
    for (const auto& [key, sums] : groups) {
      auto& [sum, operations] = whole[{std::get<0>(key), std::get<1>(key), std::get<2>(key), every_op}];
      sum.add(sums);
      ++operations;
    }
    for (auto& [key, sum] : whole)
      if (sum.second > 1) groups.emplace(key, std::move(sum.first));
  }
  const std::map<std::size_t, GroupExposed> exposed = exposed_by_configuration(source, of);
  for (const auto& [index, groups] : all) {
    const auto known = exposed.find(index);
    const metrics::Configuration& c = source.configurations[index];
    const double count = all_steps[index];
    for (const auto& [key, sums] : groups) {
      const auto& [description, name, size, op] = key;
      Row row = configuration_cells(c);
      row.insert(
          row.end(),
          {known_text(description.empty() ? name : description), known_text(name), size > 0 ? Cell(size) : Cell(),
           sums.groups(), op, ratio(sums.collectives, count), ratio(sums.bytes, count),
           ratio(units::ns_to_s(sums.duration_ns), count), ratio(units::ns_to_s(sums.skew_ns), count),
           known == exposed.end() ? Cell() : known->second.seconds(sums, op), ratio(sums.waited, sums.waits_known),
           known_text(fmt::format("{}", fmt::join(sums.peers, ", "))),
           sums.largest_split > 0 ? Cell(sums.largest_split) : Cell()});
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

}  // namespace ddpprof::report
