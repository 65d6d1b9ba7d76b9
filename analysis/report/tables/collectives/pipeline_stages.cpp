// Compute and waiting of each stage of a pipeline parallel job.
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "analysis/metrics/group_times.hpp"
#include "analysis/report/tables/collectives/collectives.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {
namespace {

using RankOfMeasurement = std::pair<std::int64_t, std::int64_t>;  // measurement, rank

// Sums over the measured steps of the ranks of one stage.
struct Stage {
  std::set<std::int64_t> ranks;
  double steps = 0, duration_ns = 0, compute_ns = 0, sends = 0, sent_bytes = 0;
  double steps_with_bubble = 0, bubble_ns = 0;
};

// Returns the stage of each rank with two or more sends and receives per step (forward and backward): its position in
// the largest group in which it does so, or its own number if the ranks of the group are not recorded.
std::map<RankOfMeasurement, std::int64_t> stages_of_ranks(const Source& source) {
  struct Messages {
    std::int64_t count = 0, steps = 0;
    std::vector<std::int64_t> group;  // the largest
  };
  std::map<RankOfMeasurement, Messages> all;
  SQLite::Statement query(
      source.db,
      "SELECT sh.measurement_id, sh.rank, COALESCE(g.ranks, ''), COUNT(*), (SELECT COUNT(*) FROM "
      "step one WHERE one.shard_id = sh.id AND one.kind = 'measured') FROM collective c JOIN step "
      "st ON st.id = c.step_id JOIN shard sh ON sh.id = c.shard_id JOIN measurement m ON m.id = "
      "sh.measurement_id LEFT JOIN process_group g ON g.measurement_id = sh.measurement_id AND "
      "g.communicator = c.communicator WHERE m.kind = 'import' AND st.kind = 'measured' AND c.op IN "
      "('send', 'receive') GROUP BY sh.id, c.communicator");
  while (query.executeStep()) {
    Messages& messages = all[{query.getColumn(0).getInt64(), query.getColumn(1).getInt64()}];
    messages.count += query.getColumn(3).getInt64();
    messages.steps = query.getColumn(4).getInt64();
    const std::string text = query.getColumn(2).getString();
    if (text.empty()) continue;
    auto ranks = nlohmann::json::parse(text).get<std::vector<std::int64_t>>();
    if (ranks.size() > messages.group.size()) messages.group = std::move(ranks);
  }
  std::map<RankOfMeasurement, std::int64_t> stages;
  for (const auto& [rank, messages] : all) {
    if (messages.count < 2 * messages.steps) continue;
    const auto own = std::ranges::find(messages.group, rank.second);
    stages[rank] = own == messages.group.end() ? rank.second : std::distance(messages.group.begin(), own);
  }
  return stages;
}

}  // namespace

Table pipeline_stages_table(const Source& source) {
  Table table = table_of_configurations(
      "pipeline_stages", "Pipeline stages",
      "Values are of one rank's measured step, on average over the ranks of the stage. Stage: the rank's position in "
      "the process group in which it sends and receives, at least twice per step. Bubble: time in which the rank does "
      "not compute and a send or "
      "a receive is in flight. It includes the transfer itself. The stage with the longest compute determines the "
      "step.");
  table.empty = "No rank of an imported trace sends to another rank or receives from one, as pipeline stages do.";
  append(table, {count("stage", "stage"), text("ranks", "ranks"), seconds("step_s", "step"),
                 seconds("compute_s", "compute", "step_s"), seconds("bubble_s", "bubble", "step_s"),
                 share("bubble_share", "of step"), quantity("sends_per_step", "sends", ""),
                 quantity("sent_bytes_per_step", "sent", "bytes")});
  table.key_columns += 1;
  const std::map<RankOfMeasurement, std::int64_t> stages = stages_of_ranks(source);
  if (stages.empty()) return table;
  const auto of = configuration_of_measurement(source);
  std::map<std::pair<std::size_t, std::int64_t>, Stage> all;  // by configuration and stage
  const auto stage_of = [&](const RankOfMeasurement& rank) -> Stage* {
    const auto configuration = of.find(rank.first);
    const auto stage = stages.find(rank);
    if (configuration == of.end() || stage == stages.end()) return nullptr;
    Stage& found = all[{configuration->second, stage->second}];
    found.ranks.insert(rank.second);
    return &found;
  };
  SQLite::Statement steps(source.db,
                          "SELECT sh.measurement_id, sh.rank, COUNT(*), SUM(st.duration_ns), SUM(st.compute_ns) FROM "
                          "step st JOIN shard sh ON sh.id = st.shard_id WHERE st.kind = 'measured' GROUP BY 1, 2");
  while (steps.executeStep())
    if (Stage* stage = stage_of({steps.getColumn(0).getInt64(), steps.getColumn(1).getInt64()})) {
      stage->steps += steps.getColumn(2).getDouble();
      stage->duration_ns += steps.getColumn(3).getDouble();
      stage->compute_ns += steps.getColumn(4).getDouble();
    }
  SQLite::Statement sends(source.db,
                          "SELECT sh.measurement_id, sh.rank, COUNT(*), SUM(c.bytes) FROM collective c JOIN step st ON "
                          "st.id = c.step_id JOIN shard sh ON sh.id = c.shard_id WHERE st.kind = 'measured' AND c.op = "
                          "'send' GROUP BY 1, 2");
  while (sends.executeStep())
    if (Stage* stage = stage_of({sends.getColumn(0).getInt64(), sends.getColumn(1).getInt64()})) {
      stage->sends += sends.getColumn(2).getDouble();
      stage->sent_bytes += sends.getColumn(3).getDouble();
    }
  for (const metrics::RankCommunication& rank : metrics::rank_communication(source.db))
    if (Stage* stage = stage_of({rank.measurement, rank.rank})) {
      stage->steps_with_bubble += static_cast<double>(rank.steps);
      stage->bubble_ns += static_cast<double>(rank.stages.exposed_ns);
    }
  for (const auto& [key, stage] : all) {
    Row row = configuration_cells(source.configurations[key.first]);
    row.insert(row.end(), {key.second, fmt::format("{}", fmt::join(stage.ranks, ", ")),
                           ratio(units::ns_to_s(stage.duration_ns), stage.steps),
                           ratio(units::ns_to_s(stage.compute_ns), stage.steps),
                           ratio(units::ns_to_s(stage.bubble_ns), stage.steps_with_bubble),
                           ratio(stage.bubble_ns * stage.steps, stage.steps_with_bubble * stage.duration_ns),
                           ratio(stage.sends, stage.steps), ratio(stage.sent_bytes, stage.steps)});
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace ddpprof::report
