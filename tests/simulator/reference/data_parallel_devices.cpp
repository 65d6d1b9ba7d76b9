#include "tests/simulator/reference/data_parallel_devices.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "simulator/engine/graph.hpp"

namespace ddpprof::step {
namespace {

// The step as tasks: copies on device 0's lane in their order, passes on each device's own.
class Tasks {
 public:
  Tasks(const DataParallelStep& step, const std::vector<double>& pace)
      : step_(step), pace_(pace), root_(graph_.add_lane()) {
    for (std::size_t device = 0; device < pace.size(); ++device) devices_.push_back(graph_.add_lane());
    last_ = graph_.add_task({step.data_s}, {root_});
    copy(step.parameter_bytes, step.root_s_per_byte);
    copy(step.input_bytes, step.root_s_per_byte);
    forwards_ = pass(step.forward_s);
    copy(step.output_bytes, step.to_root_s_per_byte);
    backwards_ = pass(step.backward_s);
    copy(step.parameter_bytes, step.to_root_s_per_byte);
    last_ = graph_.add_task({step.optimizer_s}, {root_}, {last_});
  }

  DataParallelDevicesResult run() const {
    const std::vector<engine::Times> times = engine::simulate(graph_);
    const auto end_s = [&](engine::Task task) { return times[static_cast<std::size_t>(task)].end_s; };
    DataParallelDevicesResult result;
    result.step_s = end_s(last_);
    result.waiting_s.assign(pace_.size(), 0.0);
    double passes_s = 0.0;
    for (const std::vector<engine::Task>* pass : {&forwards_, &backwards_}) {
      double last_end_s = 0.0;
      for (const engine::Task task : *pass) last_end_s = std::max(last_end_s, end_s(task));
      for (std::size_t device = 0; device < pass->size(); ++device)
        result.waiting_s[device] += last_end_s - end_s((*pass)[device]);
      passes_s += last_end_s - times[static_cast<std::size_t>(pass->front())].start_s;
    }
    result.root_s = std::max(0.0, result.step_s - step_.data_s - passes_s);
    return result;
  }

 private:
  // One copy for each replica, the one on device 0 first; one replica copies nothing.
  void copy(double bytes, double s_per_byte) {
    if (pace_.size() == 1) return;
    for (std::size_t replica = 0; replica < pace_.size(); ++replica) {
      const double share = replica == 0 ? step_.own_copy : 1.0;
      last_ = graph_.add_task({step_.copy_overhead_s + share * bytes * s_per_byte}, {root_}, {last_});
    }
  }

  std::vector<engine::Task> pass(double time_s) {
    std::vector<engine::Task> tasks;
    for (std::size_t device = 0; device < pace_.size(); ++device)
      tasks.push_back(graph_.add_task({pace_[device] * time_s}, {devices_[device]}, {last_}));
    last_ = graph_.add_task({}, {root_});  // device 0 goes on when all have ended
    for (const engine::Task task : tasks) graph_.wait_for(task);
    return tasks;
  }

  const DataParallelStep& step_;
  const std::vector<double>& pace_;
  engine::Graph graph_;
  engine::Lane root_;
  std::vector<engine::Lane> devices_;
  std::vector<engine::Task> forwards_, backwards_;
  engine::Task last_ = engine::none;
};

}  // namespace

DataParallelDevicesResult simulate(const DataParallelStep& step, const std::vector<double>& pace) {
  simulate(step);  // refuses what cannot be
  if (pace.size() != static_cast<std::size_t>(step.replicas)) {
    throw std::invalid_argument("simulate: " + std::to_string(pace.size()) + " paces, expected one for each of " +
                                std::to_string(step.replicas) + " replicas");
  }
  for (const double one : pace) {
    if (!(one > 0.0) || !std::isfinite(one))
      throw std::invalid_argument("simulate: a pace of " + std::to_string(one) + ", expected above 0");
  }
  return Tasks(step, pace).run();
}

}  // namespace ddpprof::step
