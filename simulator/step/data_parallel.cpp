#include "simulator/step/data_parallel.hpp"

#include <stdexcept>
#include <string>

namespace ddpprof::step {
namespace {

void require(double value, const char* name) {
  if (!(value >= 0.0)) {
    throw std::invalid_argument("simulate: " + std::string(name) + " is " + std::to_string(value) +
                                ", expected 0 or more");
  }
}

}  // namespace

DataParallelResult simulate(const DataParallelStep& step) {
  if (step.replicas < 1) {
    throw std::invalid_argument("simulate: " + std::to_string(step.replicas) + " replicas, expected 1 or more");
  }
  require(step.parameter_bytes, "parameter_bytes");
  require(step.input_bytes, "input_bytes");
  require(step.output_bytes, "output_bytes");
  require(step.root_s_per_byte, "root_s_per_byte");
  require(step.to_root_s_per_byte, "to_root_s_per_byte");
  require(step.own_copy, "own_copy");
  require(step.copy_overhead_s, "copy_overhead_s");
  require(step.data_s, "data_s");
  require(step.forward_s, "forward_s");
  require(step.backward_s, "backward_s");
  require(step.optimizer_s, "optimizer_s");

  DataParallelResult result;
  result.compute_s = step.forward_s + step.backward_s + step.optimizer_s;
  if (step.replicas > 1) {
    const double overhead_s = static_cast<double>(step.replicas) * step.copy_overhead_s;
    const double copies = static_cast<double>(step.replicas - 1) + step.own_copy;
    const auto copy_s = [&](double bytes, double s_per_byte) { return overhead_s + copies * bytes * s_per_byte; };
    result.replicate_s = copy_s(step.parameter_bytes, step.root_s_per_byte);
    result.scatter_s = copy_s(step.input_bytes, step.root_s_per_byte);
    result.gather_s = copy_s(step.output_bytes, step.to_root_s_per_byte);
    result.reduce_s = copy_s(step.parameter_bytes, step.to_root_s_per_byte);
    result.overhead_s = 4.0 * overhead_s;
  }
  result.copies_s = result.replicate_s + result.scatter_s + result.gather_s + result.reduce_s;
  result.step_s = step.data_s + result.compute_s + result.copies_s;
  return result;
}

DataParallelMemory memory(const DataParallelStep& step, double optimizer_bytes, double activation_bytes) {
  simulate(step);
  if (!(optimizer_bytes >= 0.0) || !(activation_bytes >= 0.0))
    throw std::invalid_argument("memory: the optimizer's or the activations' bytes are negative, expected 0 or more");
  const double shared_bytes = 2.0 * step.parameter_bytes + activation_bytes;
  const auto replicas = static_cast<double>(step.replicas);
  return {shared_bytes + optimizer_bytes + replicas * (step.input_bytes + step.output_bytes),
          step.replicas > 1 ? shared_bytes + step.input_bytes + step.output_bytes : 0.0};
}

}  // namespace ddpprof::step
