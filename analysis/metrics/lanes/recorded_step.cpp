#include "analysis/metrics/lanes/recorded_step.hpp"

#include <SQLiteCpp/Statement.h>

#include <stdexcept>
#include <utility>

#include "tracer/store/rows/queries.hpp"

namespace ddpprof::metrics {
namespace {

// Units of a sharded training: their work, and the names of the collectives that carry their data.
void read_units(SQLite::Database& db, Recorded& step, const std::vector<store::CollectiveRow>& rows) {
  SQLite::Statement query(db,
                          "SELECT u.name, u.root, w.action, w.pass, w.start_ns, w.end_ns, w.communicator, w.sequence "
                          "FROM sharded_work w JOIN step st ON st.id = w.step_id JOIN shard sh ON sh.id = st.shard_id "
                          "JOIN sharded_unit u ON u.measurement_id = sh.measurement_id AND u.unit = w.unit WHERE "
                          "w.step_id = ? ORDER BY w.start_ns");
  query.bind(1, step.id);
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> carried;  // unit by communicator and sequence
  while (query.executeStep()) {
    const bool root = query.getColumn(1).getInt() != 0;
    const std::string name = root ? "the root" : query.getColumn(0).getString(),
                      action = query.getColumn(2).getString();
    if (action == "compute" || action == "copy")
      step.units.push_back({name, root, query.getColumn(3).getString() == "backward", action == "copy",
                            clip({query.getColumn(4).getInt64(), query.getColumn(5).getInt64()}, step.time())});
    else if (!query.getColumn(6).isNull() && !query.getColumn(7).isNull())
      carried[{query.getColumn(6).getInt64(), query.getColumn(7).getInt64()}] = name;
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (const auto found = carried.find({rows[i].communicator, rows[i].sequence}); found != carried.end())
      step.collectives[i].unit = found->second;
}

void read_inside(SQLite::Database& db, Recorded& step, std::int64_t measurement) {
  store::StepReader rows(db);
  std::vector<store::PhaseRow> phases = rows.phases(step.id);
  std::ranges::stable_sort(phases, {}, &store::PhaseRow::start_ns);
  for (store::PhaseRow& row : phases)
    step.phases.push_back({std::move(row.name), row.lane, {row.start_ns, row.start_ns + row.duration_ns}, row.bytes});
  std::map<std::int64_t, store::ParameterRow> parameters;
  for (store::ParameterRow& row : store::read_parameters(db, measurement)) parameters[row.parameter] = std::move(row);
  for (const store::GradReadyRow& row : rows.gradients(step.id)) {
    const auto known = parameters.find(row.parameter);
    Gradient gradient{"gradient of parameter " + std::to_string(row.parameter), row.ready_ns, std::nullopt};
    if (known != parameters.end()) {
      gradient.name = "gradient of " + known->second.name;
      gradient.bytes = known->second.bytes;
    }
    step.gradients.push_back(std::move(gradient));
  }
  const std::vector<store::CollectiveRow> collectives = rows.collectives_of_step(step.id);
  for (const store::CollectiveRow& row : collectives) {
    Collective one;
    one.op = row.op;
    one.bucket = row.bucket;
    one.bytes = row.bytes;
    one.launch_ns = row.launch_ns - step.start_ns;
    if (row.start_ns && row.end_ns) one.time = Span{*row.start_ns - step.start_ns, *row.end_ns - step.start_ns};
    one.skew_ns = row.skew_ns.value_or(0);
    step.collectives.push_back(std::move(one));
  }
  read_units(db, step, collectives);
  SQLite::Statement kernels(db,
                            "SELECT k.device, k.start_ns, k.end_ns FROM kernel k JOIN string s ON s.id = k.name_id "
                            "WHERE k.shard_id = ? AND k.end_ns > ? AND k.start_ns < ? AND s.value NOT LIKE '%nccl%' "
                            "ORDER BY k.start_ns");
  kernels.bind(1, step.shard);
  kernels.bind(2, step.start_ns);
  kernels.bind(3, step.start_ns + step.duration_ns);
  while (kernels.executeStep()) {
    const Span span =
        clip({kernels.getColumn(1).getInt64() - step.start_ns, kernels.getColumn(2).getInt64() - step.start_ns},
             step.time());
    std::vector<Span>& all = step.kernels[kernels.getColumn(0).getInt64()];
    if (!all.empty() && span.begin_ns <= all.back().end_ns)
      all.back().end_ns = std::max(all.back().end_ns, span.end_ns);
    else
      all.push_back(span);
  }
}

}  // namespace

std::int64_t first_rank(SQLite::Database& db, std::int64_t measurement, std::int64_t number) {
  SQLite::Statement q(db,
                      "SELECT MIN(sh.rank) FROM step st JOIN shard sh ON sh.id = st.shard_id "
                      "WHERE sh.measurement_id = ? AND st.step = ?");
  q.bind(1, measurement);
  q.bind(2, number);
  if (!q.executeStep() || q.getColumn(0).isNull())
    throw std::invalid_argument("measurement " + std::to_string(measurement) + ": the ranks recorded no step " +
                                std::to_string(number));
  return q.getColumn(0).getInt64();
}

Recorded read_recorded(SQLite::Database& db, std::int64_t measurement, std::int64_t rank, std::int64_t number) {
  SQLite::Statement q(db,
                      "SELECT st.id, st.shard_id, st.start_ns, st.duration_ns, st.kind, m.strategy, m.device, "
                      "m.world_size FROM step st JOIN shard sh ON sh.id = st.shard_id "
                      "JOIN measurement m ON m.id = sh.measurement_id "
                      "WHERE m.id = ? AND sh.rank = ? AND st.step = ? ORDER BY st.kind = 'measured' DESC, st.id");
  q.bind(1, measurement);
  q.bind(2, rank);
  q.bind(3, number);
  if (!q.executeStep())
    throw std::invalid_argument("measurement " + std::to_string(measurement) + ": rank " + std::to_string(rank) +
                                " recorded no step " + std::to_string(number));
  Recorded step;
  step.id = q.getColumn(0).getInt64();
  step.shard = q.getColumn(1).getInt64();
  step.start_ns = q.getColumn(2).getInt64();
  step.duration_ns = q.getColumn(3).getInt64();
  step.kind = q.getColumn(4).getString();
  step.strategy = q.getColumn(5).getString();
  step.device = q.getColumn(6).getString();
  step.workers = q.getColumn(7).getInt64();
  read_inside(db, step, measurement);
  return step;
}

}  // namespace ddpprof::metrics
