#include "analysis/metrics/recorded_step.hpp"

#include <SQLiteCpp/Statement.h>

#include <stdexcept>

namespace ddpprof::metrics {
namespace {

std::optional<std::int64_t> known(const SQLite::Column& column) {
  return column.isNull() ? std::nullopt : std::optional(column.getInt64());
}

void read_inside(SQLite::Database& db, Recorded& step, std::int64_t measurement) {
  SQLite::Statement phases(
      db, "SELECT name, lane, start_ns, duration_ns, bytes FROM phase WHERE step_id = ? ORDER BY start_ns, rowid");
  phases.bind(1, step.id);
  while (phases.executeStep()) {
    const std::int64_t begin_ns = phases.getColumn(2).getInt64();
    step.phases.push_back({phases.getColumn(0).getString(),
                           phases.getColumn(1).getInt64(),
                           {begin_ns, begin_ns + phases.getColumn(3).getInt64()},
                           known(phases.getColumn(4))});
  }
  SQLite::Statement gradients(db,
                              "SELECT g.parameter, g.ready_ns, p.name, p.bytes FROM grad_ready g LEFT JOIN parameter p "
                              "ON p.measurement_id = ? AND p.parameter = g.parameter WHERE g.step_id = ? "
                              "ORDER BY g.ready_ns, g.parameter");
  gradients.bind(1, measurement);
  gradients.bind(2, step.id);
  while (gradients.executeStep()) {
    const bool named = !gradients.getColumn(2).isNull();
    step.gradients.push_back({"gradient of " + (named ? gradients.getColumn(2).getString()
                                                      : "parameter " + gradients.getColumn(0).getString()),
                              gradients.getColumn(1).getInt64(), known(gradients.getColumn(3))});
  }
  SQLite::Statement collectives(db,
                                "SELECT op, bucket, bytes, launch_ns, start_ns, end_ns, skew_ns FROM collective "
                                "WHERE step_id = ? ORDER BY COALESCE(start_ns, launch_ns), sequence");
  collectives.bind(1, step.id);
  while (collectives.executeStep()) {
    Collective one;
    one.op = collectives.getColumn(0).getString();
    one.bucket = collectives.getColumn(1).getInt64();
    one.bytes = collectives.getColumn(2).getInt64();
    one.launch_ns = collectives.getColumn(3).getInt64() - step.start_ns;
    const auto start_ns = known(collectives.getColumn(4)), end_ns = known(collectives.getColumn(5));
    if (start_ns && end_ns) one.time = Span{*start_ns - step.start_ns, *end_ns - step.start_ns};
    one.skew_ns = known(collectives.getColumn(6)).value_or(0);
    step.collectives.push_back(std::move(one));
  }
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
