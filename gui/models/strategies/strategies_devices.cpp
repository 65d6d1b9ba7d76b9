// Memory and traffic of a device. Memory is as measured, plus the simulated cost of each further replica.
#include <cmath>
#include <stdexcept>

#include "gui/models/strategies/strategies.hpp"
#include "simulator/step/data_parallel.hpp"

namespace ddpprof::gui {
namespace {

std::size_t column_of(const report::Table& table, const std::string& name) {
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].name == name) return i;
  throw std::logic_error("the memory report has no column " + name);
}

std::optional<double> number(const report::Cell& cell) {
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
  return std::nullopt;
}

// Returns the distance of two N in the logarithm.
double apart(std::int64_t a, std::int64_t b) {
  return std::abs(std::log(static_cast<double>(a)) - std::log(static_cast<double>(b)));
}

}  // namespace

std::vector<MeasuredMemory> memory_of(const report::Report& memory) {
  std::vector<MeasuredMemory> all;
  const report::Table& table = memory.tables.at(0);
  const std::size_t model = column_of(table, "model"), strategy = column_of(table, "strategy"),
                    workers = column_of(table, "workers"), batch = column_of(table, "global_batch_samples"),
                    device_0 = column_of(table, "device0_peak_bytes"), others = column_of(table, "others_peak_bytes");
  for (const report::Row& row : table.rows)
    all.push_back({std::get<std::string>(row[model]), std::get<std::string>(row[strategy]),
                   std::get<std::int64_t>(row[workers]), std::get<std::int64_t>(row[batch]), number(row[device_0]),
                   number(row[others])});
  return all;
}

double Strategies::optimizer_bytes() const {
  const metrics::Configuration* some = largest("dp") ? largest("dp") : largest("ddp");
  if (!some || !file_->scenario) return 0.0;
  const scenario::Optimizer& optimizer = file_->scenario->workload.optimizer;
  const double states = optimizer.kind != scenario::OptimizerKind::sgd ? 2.0 : optimizer.momentum != 0.0 ? 1.0 : 0.0;
  return states * static_cast<double>(some->parameter_bytes);
}

// Returns the bytes that the copies of `workers` replicas carry. Without measured copies only the parameters are
// counted.
step::DataParallelStep Strategies::copying(std::int64_t workers) const {
  step::DataParallelStep step;
  step.replicas = workers;
  const metrics::Configuration* some = largest("dp") ? largest("dp") : largest("ddp");
  if (some) step.parameter_bytes = static_cast<double>(some->parameter_bytes);
  if (!file_->models) return step;
  const auto& measured = file_->models->copies.bytes_per_replica;
  const auto take = [&](const char* phase, double& bytes) {
    if (const auto found = measured.find(phase); found != measured.end()) bytes = found->second;
  };
  take("scatter", step.input_bytes);
  take("gather", step.output_bytes);
  return step;
}

DeviceMemory Strategies::memory(const std::string& strategy, std::int64_t workers) const {
  const metrics::Configuration* some = largest(strategy);
  const MeasuredMemory* nearest = nullptr;
  for (const MeasuredMemory& one : memory_) {
    const metrics::Configuration* same = configuration(strategy, one.workers);
    if (one.strategy != strategy || !one.device_0_bytes || !same || same->model != one.model ||
        same->global_batch() != one.global_batch)
      continue;
    // With one worker DataParallel has no root device, so its memory is different from that of several workers.
    if (strategy == "dp" && (one.workers == 1) != (workers == 1)) continue;
    if (nearest == nullptr || apart(one.workers, workers) < apart(nearest->workers, workers)) nearest = &one;
  }
  if (nearest == nullptr) {
    if (strategy == "dp") return data_parallel_memory(workers);
    return {{}, {}, false, some ? "the memory of " + strategy + " was not recorded. Measure again" : "not measured"};
  }
  DeviceMemory out{nearest->device_0_bytes, nearest->others_bytes, nearest->workers == workers, ""};
  if (out.measured) {
    out.source = "measured";
    return out;
  }
  out.source = "as measured at N = " + std::to_string(nearest->workers);
  if (strategy == "ddp") {
    if (nearest->workers == 1 || workers == 1) out.source += "; DDP's buckets are the same at any N";
    return out;
  }
  const double optimizer = optimizer_bytes();
  const double more = step::memory(copying(workers), optimizer, 0.0).device_0_bytes -
                      step::memory(copying(nearest->workers), optimizer, 0.0).device_0_bytes;
  out.device_0_bytes = *out.device_0_bytes + more;
  out.source = "simulated: N = " + std::to_string(nearest->workers) +
               " as measured, plus inputs and outputs of each further replica";
  return out;
}

DeviceMemory Strategies::data_parallel_memory(std::int64_t workers) const {
  const metrics::Configuration* some = largest("dp") ? largest("dp") : largest("ddp");
  if (!some) return {{}, {}, false, "not measured"};
  if (some->parameter_bytes <= 0) return {{}, {}, false, "the size of the parameters was not recorded"};
  const step::DataParallelMemory least = step::memory(copying(workers), optimizer_bytes(), 0.0);
  DeviceMemory out{least.device_0_bytes,
                   {},
                   false,
                   "simulated lower bound: parameters, gradients and optimizer state, without activations"};
  if (workers > 1) out.others_bytes = least.other_bytes;
  return out;
}

Traffic Strategies::traffic(const std::string& strategy, std::int64_t workers) const {
  const auto n = static_cast<double>(workers);
  const metrics::Configuration* some = largest(strategy) ? largest(strategy) : largest(strategy == "dp" ? "ddp" : "dp");
  if (!some) return {{}, {}, "nothing was measured"};
  if (workers == 1) return {0.0, 0.0, "one worker exchanges nothing"};
  const Traffic unknown{{}, {}, "the size of the gradients was not recorded"};
  if (strategy == "dp") {
    const step::DataParallelStep step = copying(workers);
    if (!(step.parameter_bytes > 0.0)) return unknown;
    const bool all = step.input_bytes > 0.0 || step.output_bytes > 0.0;
    return {(n - 1.0) * (step.parameter_bytes + step.input_bytes),
            (n - 1.0) * (step.parameter_bytes + step.output_bytes),
            all ? "device 0: parameters and inputs out, outputs and gradients in, for each other replica"
                : "device 0: parameters out and gradients in, for each other replica; inputs and outputs were not "
                  "measured"};
  }
  double bytes = static_cast<double>(some->parameter_bytes);
  if (file_->models && !file_->models->measured.ddp.empty()) {
    // A communication hook can compress: use the bytes of the measured buckets.
    const std::vector<fit::Bucket>& buckets = file_->models->measured.ddp.rbegin()->second.buckets;
    double reduced = 0.0;
    for (const fit::Bucket& bucket : buckets) reduced += static_cast<double>(bucket.bytes);
    if (reduced > 0.0) bytes = reduced;
  }
  if (!(bytes > 0.0)) return unknown;
  const double each_way = 2.0 * (n - 1.0) / n * bytes;
  return {each_way, each_way,
          "ring all-reduce: each rank sends and receives 2 (N - 1) / N × the bytes of the gradients"};
}

}  // namespace ddpprof::gui
