// Rows of the tables with summaries of steps and collectives. Fields are in the schema's column order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace ddpprof::store {

struct StepRow {
  static constexpr std::string_view table = "step";
  std::optional<std::int64_t> id;
  std::int64_t shard_id = 0, step = 0;
  std::string kind = "measured";
  std::int64_t samples = 0;
  std::int64_t start_ns = 0, duration_ns = 0;
  std::int64_t data_wait_ns = 0, host_to_device_ns = 0, buffers_ns = 0;
  std::int64_t forward_ns = 0, backward_ns = 0, optimizer_ns = 0, copy_ns = 0;
  std::int64_t compute_ns = 0, communication_ns = 0, overlapped_ns = 0, exposed_ns = 0, skew_ns = 0;
  std::optional<double> loss;
  std::optional<double> learning_rate = std::nullopt, local_gradient_sqr = std::nullopt, gradient_sqr = std::nullopt;
  std::optional<std::int64_t> device_idle_ns = std::nullopt;
  auto fields() const {
    return std::tie(id, shard_id, step, kind, samples, start_ns, duration_ns, data_wait_ns, host_to_device_ns,
                    buffers_ns, forward_ns, backward_ns, optimizer_ns, copy_ns, compute_ns, communication_ns,
                    overlapped_ns, exposed_ns, skew_ns, loss, learning_rate, local_gradient_sqr, gradient_sqr,
                    device_idle_ns);
  }
};

struct PhaseRow {
  static constexpr std::string_view table = "phase";
  std::int64_t step_id = 0;
  std::string name;
  std::int64_t lane = 0, start_ns = 0, duration_ns = 0;
  std::optional<std::int64_t> bytes;
  auto fields() const { return std::tie(step_id, name, lane, start_ns, duration_ns, bytes); }
};

struct GradReadyRow {
  static constexpr std::string_view table = "grad_ready";
  std::int64_t step_id = 0, parameter = 0, ready_ns = 0;
  auto fields() const { return std::tie(step_id, parameter, ready_ns); }
};

struct CollectiveRow {
  static constexpr std::string_view table = "collective";
  std::int64_t shard_id = 0;
  std::optional<std::int64_t> step_id;
  std::int64_t communicator = 0, sequence = 0;
  std::string op = "all_reduce";
  std::int64_t bucket = -1, bytes = 0;
  std::optional<std::int64_t> ready_ns;
  std::int64_t launch_ns = 0;
  std::optional<std::int64_t> start_ns, end_ns, transfer_ns, skew_ns;
  std::optional<std::string> datatype = std::nullopt, algorithm = std::nullopt, protocol = std::nullopt;
  std::optional<std::int64_t> channels = std::nullopt;
  std::optional<std::int64_t> peer = std::nullopt, asynchronous = std::nullopt;
  std::optional<double> largest_split = std::nullopt;
  auto fields() const {
    return std::tie(shard_id, step_id, communicator, sequence, op, bucket, bytes, ready_ns, launch_ns, start_ns, end_ns,
                    transfer_ns, skew_ns, datatype, algorithm, protocol, channels, peer, asynchronous, largest_split);
  }
};

struct ProcessGroupRow {
  static constexpr std::string_view table = "process_group";
  std::int64_t measurement_id = 0, communicator = 0;
  std::string name, description;
  std::optional<std::int64_t> size;
  std::string ranks;
  auto fields() const { return std::tie(measurement_id, communicator, name, description, size, ranks); }
};

struct ShardedUnitRow {
  static constexpr std::string_view table = "sharded_unit";
  std::int64_t measurement_id = 0, unit = 0;
  std::string name;
  std::int64_t root = 0;
  std::optional<std::int64_t> parameters;
  std::int64_t gathered_bytes = 0;
  std::optional<std::int64_t> gathered_element_bytes;
  std::int64_t scattered_bytes = 0;
  std::optional<std::int64_t> scattered_element_bytes, ranks, gathers_again;
  std::int64_t scatters_by_all_reduce = 0;
  auto fields() const {
    return std::tie(measurement_id, unit, name, root, parameters, gathered_bytes, gathered_element_bytes,
                    scattered_bytes, scattered_element_bytes, ranks, gathers_again, scatters_by_all_reduce);
  }
};

struct ShardedWorkRow {
  static constexpr std::string_view table = "sharded_work";
  std::int64_t step_id = 0, unit = 0;
  std::string_view action = "compute", pass = "forward";
  std::int64_t micro_batch = 0;
  std::optional<std::int64_t> launch_ns;
  std::int64_t start_ns = 0, end_ns = 0;
  std::optional<std::int64_t> busy_ns, bytes, exposed_ns, hidden_by, prefetched, communicator, sequence;
  auto fields() const {
    return std::tie(step_id, unit, action, pass, micro_batch, launch_ns, start_ns, end_ns, busy_ns, bytes, exposed_ns,
                    hidden_by, prefetched, communicator, sequence);
  }
};

struct DeviceTimeRow {
  static constexpr std::string_view table = "device_time";
  std::int64_t shard_id = 0;
  std::string_view name = "all";
  std::int64_t start_ns = 0, span_ns = 0;
  std::int64_t compute_ns = 0, communication_ns = 0, memory_ns = 0, overlapped_ns = 0, busy_ns = 0;
  std::int64_t kernels = 0, collective_kernels = 0, copies = 0;
  auto fields() const {
    return std::tie(shard_id, name, start_ns, span_ns, compute_ns, communication_ns, memory_ns, overlapped_ns, busy_ns,
                    kernels, collective_kernels, copies);
  }
};

struct KernelSummaryRow {
  static constexpr std::string_view table = "kernel_summary";
  std::int64_t shard_id = 0, name_id = 0;
  std::string_view kind = "compute";
  std::int64_t count = 0, total_ns = 0, minimum_ns = 0, maximum_ns = 0;
  auto fields() const { return std::tie(shard_id, name_id, kind, count, total_ns, minimum_ns, maximum_ns); }
};

struct CommPointRow {
  static constexpr std::string_view table = "comm_point";
  std::int64_t shard_id = 0;
  std::string_view op = "all_reduce";
  std::int64_t bytes = 0, iteration = 0, duration_ns = 0;
  std::optional<std::int64_t> processor_ns = std::nullopt;
  auto fields() const { return std::tie(shard_id, op, bytes, iteration, duration_ns, processor_ns); }
};

}  // namespace ddpprof::store
