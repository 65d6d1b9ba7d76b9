#include "simulator/strategy/parameter_server.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

#include "simulator/engine/graph.hpp"

namespace ddpprof::strategy {
namespace {

using engine::Task;

constexpr double unlimited = std::numeric_limits<double>::infinity();
constexpr double most_quicker = 1000.0;  // than the slowest worker: a quicker one counts as that

void validate(const ParameterServerJob& job) {
  const auto refuse = [](const std::string& what) { throw std::invalid_argument("parameter server: " + what); };
  if (job.compute_s.empty()) refuse("no worker, expected at least one");
  if (job.servers < 1 || job.servers > static_cast<std::int64_t>(job.compute_s.size()))
    refuse(std::to_string(job.servers) + " servers for " + std::to_string(job.compute_s.size()) +
           " workers, expected at least 1 and at most one per worker");
  if (job.steps < 8) refuse(std::to_string(job.steps) + " steps, expected 8 or more");
  for (const double compute_s : job.compute_s)
    if (!(compute_s >= 0.0) || !std::isfinite(compute_s)) refuse("a compute_s below 0 or not finite");
  if (!std::isfinite(job.gradient_bytes) || !(job.gradient_bytes >= 0.0)) refuse("gradient_bytes below 0");
}

class Training {
 public:
  explicit Training(const ParameterServerJob& job)
      : job_(job), workers_(job.compute_s.size()), servers_(static_cast<std::size_t>(job.servers)) {
    for (std::size_t worker = 0; worker < workers_; ++worker) compute_.push_back(graph_.add_lane());
    for (std::size_t server = 0; server < servers_; ++server) {
      in_.push_back(graph_.add_link());
      out_.push_back(graph_.add_link());
      apply_.push_back(graph_.add_lane(engine::Order::ready));
    }
    pulled_.resize(workers_);
    updates_.resize(workers_);
  }

  ParameterServerOutcome run() {
    if (job_.asynchronous) {
      // All train for as long as the slowest needs for its steps.
      const double slowest_s = *std::max_element(job_.compute_s.begin(), job_.compute_s.end());
      for (std::size_t worker = 0; worker < workers_; ++worker) {
        const double quicker =
            std::min(most_quicker, slowest_s / std::max(job_.compute_s[worker], slowest_s / most_quicker));
        const auto steps = slowest_s > 0.0 ? std::llround(static_cast<double>(job_.steps) * quicker) : job_.steps;
        for (std::int64_t step = 0; step < steps; ++step) pull(worker, compute_and_push(worker));
      }
    } else {
      for (std::int64_t step = 0; step < job_.steps; ++step) add_round();
    }
    return figures(engine::simulate(graph_));
  }

 private:
  // Computes, pushes to every server, and is applied there; by server.
  std::vector<Task> compute_and_push(std::size_t worker) {
    const Task computed = graph_.add_task({job_.compute_s[worker]}, compute_[worker], pulled_[worker]);
    const Task sent = over_own_link({computed});
    std::vector<Task> applied;
    for (std::size_t server = 0; server < servers_; ++server) {
      const Task pushed = graph_.add_task({job_.link.latency_s, transfer_s(), in_[server]}, {}, {computed});
      applied.push_back(graph_.add_task({apply_s()}, {apply_[server]}, {pushed, sent}));
    }
    updates_[worker].push_back(applied.front());
    return applied;
  }

  // `after`, by server: when its parameters may leave.
  void pull(std::size_t worker, const std::vector<Task>& after) {
    pulled_[worker].clear();
    for (std::size_t server = 0; server < servers_; ++server)
      pulled_[worker].push_back(
          graph_.add_task({job_.link.latency_s, transfer_s(), out_[server]}, {}, {after[server]}));
    pulled_[worker].push_back(over_own_link(after));
  }

  // All of a worker's bytes pass its own link, whatever the servers' could carry.
  Task over_own_link(const std::vector<Task>& after) {
    const double whole_s = job_.gradient_bytes * job_.link.bandwidth_s_per_byte;
    return graph_.add_task({job_.link.latency_s + whole_s}, std::nullopt, after);
  }

  double transfer_s() const {
    return job_.gradient_bytes / static_cast<double>(servers_) * job_.link.bandwidth_s_per_byte;
  }
  double apply_s() const { return job_.apply_s / static_cast<double>(servers_); }

  void add_round() {
    std::vector<std::vector<Task>> applied;
    for (std::size_t worker = 0; worker < workers_; ++worker) applied.push_back(compute_and_push(worker));
    std::vector<Task> all;  // by server: the gradients of all workers have arrived
    for (std::size_t server = 0; server < servers_; ++server) {
      all.push_back(graph_.add_task({}, {}));
      for (std::size_t worker = 0; worker < workers_; ++worker) graph_.wait_for(applied[worker][server]);
    }
    for (std::size_t worker = 0; worker < workers_; ++worker) pull(worker, all);
  }

  // Results cover the time between a quarter of the training and the end of the quickest worker: all workers train
  // then.
  ParameterServerOutcome figures(const std::vector<engine::Times>& times) const {
    const auto ended_s = [&](Task task) { return times[static_cast<std::size_t>(task)].end_s; };
    double end_s = ended_s(updates_[0].back());
    for (const auto& own : updates_) end_s = std::min(end_s, ended_s(own.back()));
    const double begin_s = end_s / 4.0;
    double updates_per_s = 0.0;
    for (const auto& own : updates_) {
      double first_s = -1.0, last_s = -1.0, counted = -1.0;
      for (const Task update : own) {
        const double applied_s = ended_s(update);
        if (applied_s < begin_s || applied_s > end_s) continue;
        if (first_s < 0.0) first_s = applied_s;
        last_s = applied_s;
        ++counted;
      }
      // Too slow for two updates in that time: its first update ends its first step.
      updates_per_s += counted >= 1.0 ? counted / (last_s - first_s) : 1.0 / ended_s(own.front());
    }
    ParameterServerOutcome outcome;
    outcome.step_s = static_cast<double>(workers_) / updates_per_s;
    // Beside the steps of workers that wait for nothing.
    double alone_per_s = 0.0;
    for (const double compute_s : job_.compute_s) alone_per_s += compute_s > 0.0 ? 1.0 / compute_s : unlimited;
    outcome.exposed_s = outcome.step_s - static_cast<double>(workers_) / alone_per_s;
    return outcome;
  }

  const ParameterServerJob& job_;
  std::size_t workers_, servers_;
  engine::Graph graph_;
  std::vector<engine::Lane> compute_, apply_;
  std::vector<engine::Link> in_, out_;
  std::vector<std::vector<Task>> pulled_;
  std::vector<std::vector<Task>> updates_;  // by worker: of the first server, one a step
};

}  // namespace

ParameterServerOutcome simulate(const ParameterServerJob& job) {
  validate(job);
  return Training(job).run();
}

}  // namespace ddpprof::strategy
