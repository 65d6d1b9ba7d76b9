#include "simulator/strategy/sharded_step.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "simulator/engine/graph.hpp"

namespace ddpprof::strategy {
namespace {

class ShardedGraph {
 public:
  explicit ShardedGraph(const ShardedStep& step) : step_(step) {
    if (step.units.empty()) throw std::invalid_argument("sharded step: no unit, expected at least the root");
    if (step.micro_batches < 1) throw std::invalid_argument("sharded step: fewer than one micro-batch");
    compute_ = graph_.add_lane();
    network_ = graph_.add_lane();
  }

  ShardedOutcome run() {
    build();
    for (const engine::Times& times : engine::simulate(graph_))
      outcome_.step_s = std::max(outcome_.step_s, times.end_s);
    return outcome_;
  }

  std::vector<ShardedActivity> activities() {
    build();
    std::vector<ShardedActivity> all;
    std::size_t task = 0;
    for (const engine::Times& times : engine::simulate(graph_)) {
      const std::optional<ShardedActivity>& made = made_[task++];
      if (made && times.end_s > times.start_s) all.push_back({made->work, made->unit, times.start_s, times.end_s});
    }
    std::ranges::stable_sort(all, {}, &ShardedActivity::begin_s);
    return all;
  }

 private:
  void build() {
    for (std::int64_t micro_batch = 0; micro_batch < step_.micro_batches; ++micro_batch) {
      forward();
      backward(step_.scatters_each_micro_batch || micro_batch + 1 == step_.micro_batches);
    }
    for (const engine::Task scatter : scatters_) blocking_.push_back(scatter);
    computed(step_.optimizer_s, std::nullopt, std::nullopt);
  }

  using Gather = std::optional<engine::Task>;

  void forward() {
    const std::size_t count = step_.units.size();
    const Gather root = gathered(0, 0);
    for (std::size_t i = 1; i < count; ++i) {
      const Gather gather = gathered(i, 2);
      if (root && i == 1) blocking_.push_back(*root);
      computed(step_.units[i].forward_s, gather, ShardedActivity{ShardedWork::forward, i});
    }
    computed(step_.units[0].forward_s, count == 1 ? root : std::nullopt, ShardedActivity{ShardedWork::forward, 0});
  }

  // The root computes first. Each unit's parameters are gathered ahead, before the previous unit's gradients are
  // scattered.
  void backward(bool scatters) {
    const std::size_t count = step_.units.size();
    const Gather root = gathered_again(0);
    Gather next = count > 1 ? gathered_again(count - 1) : std::nullopt;
    computed(step_.units[0].backward_s, root, ShardedActivity{ShardedWork::backward, 0});
    for (std::size_t i = count; i-- > 1;) {
      const Gather gather = next;
      next = i > 1 ? gathered_again(i - 1) : std::nullopt;
      computed(step_.units[i].backward_s, gather, ShardedActivity{ShardedWork::backward, i});
      if (scatters) scattered(i);
    }
    if (scatters) scattered(0);
  }

  Gather gathered_again(std::size_t unit) {
    if (!step_.units[unit].gathers_again) return std::nullopt;
    const Gather gather = gathered(unit, 1);
    if (gather && step_.waits) blocking_.push_back(*gather);
    return gather;
  }

  // The gather starts when `ahead` - 1 computations before the next one have not ended yet; at once with 0.
  Gather gathered(std::size_t unit, std::size_t ahead) {
    const double seconds = step_.units[unit].gather_s;
    if (seconds == 0.0) return std::nullopt;
    const engine::Task gather = graph_.add_task({seconds}, {network_});
    made_.push_back(ShardedActivity{ShardedWork::gather, unit});
    const std::size_t back = step_.waits || ahead == 0 ? 1 : ahead;
    if (computed_.size() >= back) graph_.wait_for(computed_[computed_.size() - back]);
    outcome_.communication_s += seconds;
    return gather;
  }

  void scattered(std::size_t unit) {
    const double seconds = step_.units[unit].scatter_s;
    if (seconds == 0.0) return;
    const engine::Task scatter = graph_.add_task({seconds}, {network_}, {computed_.back()});
    made_.push_back(ShardedActivity{ShardedWork::scatter, unit});
    outcome_.communication_s += seconds;
    (step_.waits ? blocking_ : scatters_).push_back(scatter);
  }

  void computed(double seconds, Gather gather, std::optional<ShardedActivity> made) {
    const engine::Task task = graph_.add_task({seconds}, {compute_});
    made_.push_back(made);
    if (gather) graph_.wait_for(*gather);
    for (const engine::Task one : blocking_) graph_.wait_for(one);
    blocking_.clear();
    computed_.push_back(task);
    outcome_.compute_s += seconds;
  }

  const ShardedStep& step_;
  engine::Graph graph_;
  engine::Lane compute_ = 0, network_ = 0;
  std::vector<std::optional<ShardedActivity>> made_;  // by task, without times; none: the optimizer
  std::vector<engine::Task> computed_;                // in order
  std::vector<engine::Task> blocking_;                // the next computation waits for them
  std::vector<engine::Task> scatters_;                // the optimizer waits for them
  ShardedOutcome outcome_;
};

}  // namespace

ShardedOutcome simulate(const ShardedStep& step) { return ShardedGraph(step).run(); }

std::vector<ShardedActivity> activities(const ShardedStep& step) { return ShardedGraph(step).activities(); }

}  // namespace ddpprof::strategy
