#include "analysis/fit/measured/rows.hpp"

#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ddpprof::fit {

std::optional<std::int64_t> optional_ns(SQLite::Statement& query, int column) {
  const SQLite::Column value = query.getColumn(column);
  if (value.isNull()) return std::nullopt;
  return value.getInt64();
}

namespace {

// Reads the recorded options that the fits use. The worker writes this text. Options that cannot be read count as
// unset.
void read_options(const std::string& text, MeasurementInfo& row) {
  const auto options = nlohmann::json::parse(text, nullptr, false);
  if (!options.is_object()) return;
  const auto cap = options.find("bucket_cap_mb");
  if (cap != options.end() && cap->is_number() && cap->get<double>() > 0.0) row.bucket_cap_mb = cap->get<double>();
  const auto unused = options.find("find_unused_parameters");
  row.find_unused_parameters = unused != options.end() && *unused == true;
  const auto compression = options.find("compression");
  row.compressed = compression != options.end() && *compression != "none";
  row.from_log = options.value("source", nlohmann::json()) == "nccl-tests";
}

}  // namespace

std::vector<MeasurementInfo> read_measurements(SQLite::Database& sql) {
  SQLite::Statement query(sql,
                          "SELECT id, kind, strategy, world_size, threads_per_rank, cores, nodes, backend, device, "
                          "parameter_bytes, model, batch_per_worker, accumulation, precision, options, machines, "
                          "parameter_count FROM measurement WHERE "
                          "status <> 'failed' AND world_size >= 1 ORDER BY id");
  std::vector<MeasurementInfo> rows;
  while (query.executeStep()) {
    MeasurementInfo row;
    row.id = query.getColumn(0).getInt64();
    row.kind = query.getColumn(1).getString();
    row.strategy = query.getColumn(2).getString();
    row.machine.workers = query.getColumn(3).getInt64();
    row.machine.threads_per_rank = std::max<std::int64_t>(1, query.getColumn(4).getInt64());
    row.machine.cores = std::max<std::int64_t>(1, query.getColumn(5).getInt64());
    row.machine.nodes = std::max<std::int64_t>(1, query.getColumn(6).getInt64());
    row.machine.backend = query.getColumn(7).getString();
    row.machine.device = query.getColumn(8).getString();
    row.machine.machines =
        std::clamp<std::int64_t>(optional_ns(query, 15).value_or(row.machine.nodes), 1, row.machine.workers);
    row.parameter_bytes = query.getColumn(9).getInt64();
    row.parameter_count = query.getColumn(16).getInt64();
    row.batch_per_worker = query.getColumn(11).getInt64();
    row.accumulation = std::max<std::int64_t>(1, query.getColumn(12).getInt64());
    row.workload = {query.getColumn(10).getString(), row.batch_per_worker, row.accumulation,
                    query.getColumn(13).getString(), row.machine.device};
    read_options(query.getColumn(14).getString(), row);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<StepInfo> read_steps(SQLite::Database& sql, std::int64_t measurement) {
  SQLite::Statement query(
      sql,
      "SELECT st.id, sh.rank, st.step, st.kind = 'unwrapped', st.samples, st.start_ns, st.duration_ns, "
      "st.data_wait_ns + st.host_to_device_ns, st.buffers_ns, st.forward_ns, st.backward_ns, st.optimizer_ns, "
      "st.compute_ns, st.overlapped_ns, "
      "(SELECT MAX(p.start_ns) FROM phase p WHERE p.step_id = st.id AND p.name = 'backward' AND p.lane = 0), "
      "(SELECT MAX(g.ready_ns) FROM grad_ready g WHERE g.step_id = st.id), st.copy_ns, st.communication_ns, "
      "st.exposed_ns, st.skew_ns, st.kind = 'untraced', st.device_idle_ns, "
      "(SELECT COALESCE(SUM(p.duration_ns), 0) FROM phase p WHERE p.step_id = st.id AND p.name = 'optimizer' AND "
      "p.lane = 0 AND p.start_ns < (SELECT MAX(b.start_ns) FROM phase b WHERE b.step_id = st.id AND "
      "b.name = 'backward' AND b.lane = 0)) "
      "FROM step st JOIN shard sh ON sh.id = st.shard_id "
      "WHERE sh.measurement_id = ? AND st.kind IN ('measured', 'unwrapped', 'untraced') AND st.duration_ns > 0 "
      "ORDER BY st.step, sh.rank");
  query.bind(1, measurement);
  SQLite::Statement last_backward(sql,
                                  "SELECT duration_ns FROM phase WHERE step_id = ? AND name = 'backward' AND lane = 0 "
                                  "ORDER BY start_ns DESC LIMIT 1");
  std::vector<StepInfo> rows;
  while (query.executeStep()) {
    StepInfo row;
    row.id = query.getColumn(0).getInt64();
    row.rank = query.getColumn(1).getInt64();
    row.step = query.getColumn(2).getInt64();
    row.unwrapped = query.getColumn(3).getInt() != 0;
    row.samples = query.getColumn(4).getInt64();
    row.start_ns = query.getColumn(5).getInt64();
    row.duration_ns = query.getColumn(6).getInt64();
    row.data_ns = query.getColumn(7).getInt64();
    row.buffers_ns = query.getColumn(8).getInt64();
    row.forward_ns = query.getColumn(9).getInt64();
    row.backward_ns = query.getColumn(10).getInt64();
    row.optimizer_ns = query.getColumn(11).getInt64();
    row.compute_ns = query.getColumn(12).getInt64();
    row.overlapped_ns = query.getColumn(13).getInt64();
    row.backward_start_ns = optional_ns(query, 14);
    row.last_ready_ns = optional_ns(query, 15);
    row.copy_ns = query.getColumn(16).getInt64();
    row.communication_ns = query.getColumn(17).getInt64();
    row.exposed_ns = query.getColumn(18).getInt64();
    row.skew_ns = query.getColumn(19).getInt64();
    row.untraced = query.getColumn(20).getInt() != 0;
    row.device_idle_ns = optional_ns(query, 21);
    row.early_optimizer_ns = query.getColumn(22).getInt64();
    row.last_backward_ns = row.backward_ns;
    if (row.backward_start_ns) {
      last_backward.reset();
      last_backward.bind(1, row.id);
      if (last_backward.executeStep()) row.last_backward_ns = last_backward.getColumn(0).getInt64();
    }
    rows.push_back(row);
  }
  return rows;
}

std::vector<CollectiveInfo> read_collectives(SQLite::Database& sql, std::int64_t measurement) {
  SQLite::Statement query(sql,
                          "SELECT c.step_id, c.shard_id, c.communicator, c.sequence, c.bucket, c.bytes, c.ready_ns, "
                          "c.launch_ns, c.start_ns, c.end_ns, COALESCE(c.skew_ns, 0), "
                          "COALESCE(c.algorithm || '/' || c.protocol, '') "
                          "FROM collective c JOIN shard sh ON sh.id = c.shard_id JOIN step st ON st.id = c.step_id "
                          "WHERE sh.measurement_id = ? AND st.kind = 'measured' AND c.op = 'all_reduce' "
                          "AND c.bucket >= 0 ORDER BY c.shard_id, c.start_ns, c.sequence");
  query.bind(1, measurement);
  std::vector<CollectiveInfo> rows;
  while (query.executeStep()) {
    CollectiveInfo row;
    row.step_id = query.getColumn(0).getInt64();
    row.shard_id = query.getColumn(1).getInt64();
    row.communicator = query.getColumn(2).getInt64();
    row.sequence = query.getColumn(3).getInt64();
    row.bucket = query.getColumn(4).getInt64();
    row.bytes = query.getColumn(5).getInt64();
    row.ready_ns = optional_ns(query, 6);
    row.launch_ns = query.getColumn(7).getInt64();
    row.start_ns = optional_ns(query, 8);
    row.end_ns = optional_ns(query, 9);
    row.skew_ns = query.getColumn(10).getInt64();
    row.regime = query.getColumn(11).getString();
    rows.push_back(row);
  }
  return rows;
}

std::vector<OtherCollective> read_other_collectives(SQLite::Database& sql, std::int64_t measurement) {
  SQLite::Statement query(sql,
                          "SELECT c.step_id, c.bytes, c.start_ns, c.end_ns, COALESCE(c.skew_ns, 0) FROM collective c "
                          "JOIN shard sh ON sh.id = c.shard_id JOIN step st ON st.id = c.step_id "
                          "WHERE sh.measurement_id = ? AND st.kind = 'measured' AND c.start_ns < c.end_ns "
                          "AND (c.op <> 'all_reduce' OR c.bucket < 0) ORDER BY c.step_id, c.start_ns");
  query.bind(1, measurement);
  std::vector<OtherCollective> rows;
  while (query.executeStep())
    rows.push_back({query.getColumn(0).getInt64(), query.getColumn(1).getInt64(), query.getColumn(2).getInt64(),
                    query.getColumn(3).getInt64(), query.getColumn(4).getInt64()});
  return rows;
}

std::vector<CopyInfo> read_copies(SQLite::Database& sql, std::int64_t measurement) {
  SQLite::Statement query(sql,
                          "SELECT p.name, SUM(p.duration_ns), SUM(COALESCE(p.bytes, 0)) FROM phase p "
                          "JOIN step st ON st.id = p.step_id JOIN shard sh ON sh.id = st.shard_id "
                          "WHERE sh.measurement_id = ? AND st.kind = 'measured' "
                          "AND p.name IN ('replicate', 'scatter', 'gather', 'reduce') "
                          "GROUP BY st.id, p.name ORDER BY p.name, st.id");
  query.bind(1, measurement);
  std::vector<CopyInfo> rows;
  while (query.executeStep()) {
    rows.push_back({query.getColumn(0).getString(), query.getColumn(1).getInt64(), query.getColumn(2).getInt64()});
  }
  return rows;
}

std::vector<CommInfo> read_comm_points(SQLite::Database& sql, std::int64_t measurement) {
  SQLite::Statement query(sql,
                          "SELECT c.bytes, MIN(c.duration_ns), AVG(c.processor_ns), c.iteration FROM comm_point c JOIN "
                          "shard sh ON sh.id = c.shard_id "
                          "WHERE sh.measurement_id = ? AND c.op = 'all_reduce' GROUP BY c.bytes, c.iteration "
                          "ORDER BY c.bytes, c.iteration");
  query.bind(1, measurement);
  std::vector<CommInfo> rows;
  while (query.executeStep())
    rows.push_back({query.getColumn(0).getInt64(), query.getColumn(1).getInt64(), optional_ns(query, 2),
                    query.getColumn(3).getInt64()});
  return rows;
}

}  // namespace ddpprof::fit
