// Rows of the tables that describe measurements and their processes. Fields are in the schema's column order; the
// schema has the units.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace ddpprof::store {

// Each row names its table and lists its fields in column order. SQLite assigns an empty `id`.
struct MetaRow {
  static constexpr std::string_view table = "meta";
  std::string key, value;
  auto fields() const { return std::tie(key, value); }
};

struct ScenarioRow {
  static constexpr std::string_view table = "scenario";
  std::optional<std::int64_t> id;
  std::string name, path, source, resolved;
  auto fields() const { return std::tie(id, name, path, source, resolved); }
};

struct MeasurementRow {
  static constexpr std::string_view table = "measurement";
  std::optional<std::int64_t> id;
  std::optional<std::int64_t> scenario_id;
  std::string kind = "train";
  std::string strategy = "ddp";
  std::int64_t world_size = 1;
  std::int64_t repeat = 0;
  std::string backend = "gloo";
  std::string device = "cpu";
  std::string model;
  std::int64_t parameter_count = 0;
  std::int64_t parameter_bytes = 0;
  std::int64_t batch_per_worker = 0;
  std::int64_t accumulation = 1;
  std::string precision = "fp32";
  std::int64_t threads_per_rank = 1;
  std::int64_t cores = 1;
  double oversubscription = 0.0;
  std::int64_t nodes = 1;
  std::string versions = "{}";
  std::string options = "{}";
  std::int64_t started_utc_ns = 0;
  std::int64_t wall_ns = 0;
  std::string status = "ok";
  std::string message;
  std::optional<std::int64_t> machines;
  auto fields() const {
    return std::tie(id, scenario_id, kind, strategy, world_size, repeat, backend, device, model, parameter_count,
                    parameter_bytes, batch_per_worker, accumulation, precision, threads_per_rank, cores,
                    oversubscription, nodes, versions, options, started_utc_ns, wall_ns, status, message, machines);
  }
};

struct ShardRow {
  static constexpr std::string_view table = "shard";
  std::optional<std::int64_t> id;
  std::int64_t measurement_id = 0;
  std::int64_t rank = 0;
  std::string host, boot_id;
  std::int64_t pid = 0;
  std::string process;
  std::int64_t closed = 0;
  std::string clock_reference = "unknown";
  std::int64_t clock_offset_ns = 0;
  double clock_drift_ppb = 0.0;
  std::int64_t clock_at_ns = 0;
  std::optional<std::int64_t> clock_uncertainty_ns;
  std::optional<std::int64_t> measured_offset_ns;
  std::int64_t raw_kept = 0;
  auto fields() const {
    return std::tie(id, measurement_id, rank, host, boot_id, pid, process, closed, clock_reference, clock_offset_ns,
                    clock_drift_ppb, clock_at_ns, clock_uncertainty_ns, measured_offset_ns, raw_kept);
  }
};

struct HostConditionRow {
  static constexpr std::string_view table = "host_condition";
  std::int64_t measurement_id = 0;
  std::string host;
  std::int64_t ranks = 0, window_ns = 0;
  std::optional<std::int64_t> cpus;
  std::optional<double> ranks_share, others_share, interrupt_share, steal_share;
  std::optional<double> frequency_begin_hz, frequency_end_hz, load_begin, load_end;
  std::optional<std::int64_t> thermal_throttles, quota_throttled_ns;
  std::optional<std::int64_t> voluntary_switches, involuntary_switches, major_faults;
  auto fields() const {
    return std::tie(measurement_id, host, ranks, window_ns, cpus, ranks_share, others_share, interrupt_share,
                    steal_share, frequency_begin_hz, frequency_end_hz, load_begin, load_end, thermal_throttles,
                    quota_throttled_ns, voluntary_switches, involuntary_switches, major_faults);
  }
};

struct MemoryRow {
  static constexpr std::string_view table = "memory";
  static constexpr std::int64_t whole_process = -1;  // device number for the host memory of the whole process
  std::int64_t measurement_id = 0, rank = 0, device = 0;
  std::optional<std::int64_t> held_bytes;
  std::int64_t peak_bytes = 0;
  auto fields() const { return std::tie(measurement_id, rank, device, held_bytes, peak_bytes); }
};

struct ParameterRow {
  static constexpr std::string_view table = "parameter";
  std::int64_t measurement_id = 0, parameter = 0;
  std::string name;
  std::int64_t numel = 0, bytes = 0;
  auto fields() const { return std::tie(measurement_id, parameter, name, numel, bytes); }
};

struct BucketRow {
  static constexpr std::string_view table = "bucket";
  std::int64_t measurement_id = 0, generation = 0, bucket = 0, position = 0, parameter = 0;
  auto fields() const { return std::tie(measurement_id, generation, bucket, position, parameter); }
};

// Codes of diagnostics with which the communication of a measurement is unknown: reports then show no exposed share.
inline constexpr const char* device_not_recorded = "device_not_recorded";
inline constexpr const char* collective_kernels_unknown = "collective_kernels_unknown";
// Code of the diagnostic with which measurement.world_size is only a lower bound.
inline constexpr const char* world_size_unknown = "world_size_unknown";

struct DiagnosticRow {
  static constexpr std::string_view table = "diagnostic";
  std::optional<std::int64_t> measurement_id;
  std::optional<std::int64_t> rank;
  std::string severity = "warning";  // info, warning or error
  std::string code;
  std::int64_t count = 1;
  std::string message, advice;
  auto fields() const { return std::tie(measurement_id, rank, severity, code, count, message, advice); }
};

}  // namespace ddpprof::store
