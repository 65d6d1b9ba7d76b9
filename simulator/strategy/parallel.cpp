#include "simulator/strategy/parallel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>

#include "simulator/engine/graph.hpp"

namespace ddpprof::strategy {
namespace {

using collective::Cost;
using collective::Group;
using collective::Network;
using engine::Lane;
using engine::Task;

void require(bool holds, const std::string& what) {
  if (!holds) throw std::invalid_argument("strategy: " + what);
}

void validate(const Job& job, const Plan& plan) {
  require(!job.blocks.empty(), "no block, expected at least one");
  for (const std::int64_t count : {plan.data, plan.tensor, plan.pipeline, plan.micro_batches})
    require(count >= 1, "a count of " + std::to_string(count) + ", expected 1 or more");
  require(plan.pipeline <= static_cast<std::int64_t>(job.blocks.size()),
          std::to_string(plan.pipeline) + " stages for " + std::to_string(job.blocks.size()) +
              " blocks, expected at most as many");
  require(plan.zero >= 0 && plan.zero <= 3, "ZeRO stage " + std::to_string(plan.zero) + ", expected 0 to 3");
  require(plan.prefetch_blocks >= 0, "prefetch_blocks below 0");
  for (const Block& block : job.blocks)
    for (const double figure : {block.forward_s, block.backward_s, block.parameter_bytes, block.activation_bytes,
                                block.output_bytes, static_cast<double>(block.tensor_all_reduces)})
      require(figure >= 0.0 && std::isfinite(figure), "a block's figure is below 0 or not finite");
  for (const double figure : {job.data_s, job.optimizer_s, job.gradient_bytes, job.optimizer_bytes})
    require(figure >= 0.0 && std::isfinite(figure), "a job's figure is below 0 or not finite");
}

// Cost of each collective and each block under a plan. The position of groups on nodes follows from the rank numbers. A
// stage waits for its group that spans the most nodes.
class Costs {
 public:
  Costs(const Job& job, const Plan& plan, const Network& network) : job_(job), plan_(plan), network_(network) {
    const std::int64_t ranks = plan.data * plan.tensor;
    for (std::int64_t stage = 0; stage < plan.pipeline; ++stage) {
      const std::int64_t first = stage * ranks;
      tensor_.push_back(widest({plan.tensor, 1, first}, plan.data, plan.tensor));
      data_.push_back(widest({plan.data, plan.tensor, first}, plan.tensor, 1));
      sender_.push_back(first);
      for (std::int64_t i = 0; i < std::min(ranks, network.ranks_per_node); ++i)
        if ((first + i) / network.ranks_per_node != (first + i + ranks) / network.ranks_per_node)
          sender_.back() = first + i;
    }
  }

  double compute_s(double whole_s) const { return whole_s / static_cast<double>(plan_.tensor); }
  double tensor_s(std::size_t stage, const Block& block) const {
    return block.tensor_all_reduces * collective::all_reduce(network_, tensor_[stage], block.output_bytes).total_s();
  }
  double held_bytes(const Block& block) const { return block.parameter_bytes / static_cast<double>(plan_.tensor); }
  double gradient_bytes(const Block& block) const { return held_bytes(block) * job_.gradient_bytes; }
  Cost reduce(std::size_t stage, double bytes) const {
    return plan_.zero == 0 ? collective::all_reduce(network_, data_[stage], bytes)
                           : collective::reduce_scatter(network_, data_[stage], bytes);
  }
  Cost gather(std::size_t stage, double bytes) const { return collective::all_gather(network_, data_[stage], bytes); }
  // Between stages `low` and `low + 1`, in either direction: each tensor-parallel rank sends its part, and those of the
  // stage that `arrives` gather the whole (Narayanan et al. 2021, scatter and gather).
  Cost send(std::size_t low, std::size_t arrives, double bytes) const {
    return collective::send(network_, sender_[low], plan_.data * plan_.tensor,
                            bytes / static_cast<double>(plan_.tensor)) +
           collective::all_gather(network_, tensor_[arrives], bytes);
  }

 private:
  Group widest(Group group, std::int64_t groups, std::int64_t apart) const {
    Group found = group;
    const std::int64_t first = group.first;
    for (std::int64_t i = 0; i < std::min(groups, network_.ranks_per_node); ++i) {
      group.first = first + i * apart;
      if (group.nodes(network_) > found.nodes(network_)) found = group;
    }
    return found;
  }

  const Job& job_;
  const Plan& plan_;
  const Network& network_;
  std::vector<Group> tensor_, data_;  // by stage
  std::vector<std::int64_t> sender_;  // by stage: a rank whose partner in the next stage is on another node, if any
};

struct Pass {
  bool forward;
  std::int64_t micro;
};

// The order in which a stage computes its micro-batches.
std::vector<Pass> order_of(const Plan& plan, std::int64_t stage) {
  const std::int64_t count = plan.micro_batches;
  // 1F1B: as many forwards ahead as there are stages from this one on, then a backward for each forward
  // (Narayanan et al. 2021, "Efficient Large-Scale Language Model Training on GPU Clusters").
  const std::int64_t ahead = plan.schedule == Schedule::gpipe ? count : std::min(count, plan.pipeline - stage);
  std::vector<Pass> order;
  for (std::int64_t i = 0; i < ahead; ++i) order.push_back({true, i});
  for (std::int64_t i = 0; i < count; ++i) {
    order.push_back({false, i});
    if (ahead + i < count) order.push_back({true, ahead + i});
  }
  return order;
}

std::int64_t in_flight(const Plan& plan, std::int64_t stage) {
  if (plan.pipeline == 1) return 1;  // accumulation: each micro-batch's backward follows its forward
  return plan.schedule == Schedule::gpipe ? plan.micro_batches : std::min(plan.micro_batches, plan.pipeline - stage);
}

class Builder {
 public:
  Builder(const Job& job, const Plan& plan, const Network& network)
      : job_(job), plan_(plan), costs_(job, plan, network) {
    starts_ = balanced_stages(job, static_cast<std::size_t>(plan.pipeline));
    starts_.push_back(job.blocks.size());
    for (std::size_t stage = 0; stage + 1 < starts_.size(); ++stage) {
      compute_.push_back(graph_.add_lane());
      communication_.push_back(graph_.add_lane());
      forward_link_.push_back(graph_.add_lane());
      backward_link_.push_back(graph_.add_lane());
      Stage made;
      made.first_block = starts_[stage];
      made.blocks = starts_[stage + 1] - starts_[stage];
      stages_.push_back(made);
    }
  }

  Outcome run() {
    // Tasks may only wait for tasks that are there: stages take turns along the pipeline until all have added all.
    const auto stages = stages_.size();
    const auto micro = static_cast<std::size_t>(plan_.micro_batches);
    arrived_forward_.assign(stages, std::vector<Task>(micro, engine::none));
    arrived_backward_ = arrived_forward_;
    done_.resize(stages);
    gathers_.assign(stages, 0);
    buckets_.resize(stages);
    held_back_.resize(stages);
    reductions_.resize(stages);
    std::vector<std::vector<Pass>> orders;
    for (std::size_t stage = 0; stage < stages; ++stage) orders.push_back(order_of(stage));
    std::vector<std::size_t> next(stages, 0);
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t stage = 0; stage < stages; ++stage) {
        while (next[stage] < orders[stage].size() && can_add(stage, orders[stage][next[stage]])) {
          add(stage, orders[stage][next[stage]++]);
          moved = true;
        }
      }
    }
    for (std::size_t stage = 0; stage < stages; ++stage) finish(stage);
    return outcome();
  }

 private:
  std::vector<Pass> order_of(std::size_t stage) const {
    if (plan_.pipeline > 1) return strategy::order_of(plan_, static_cast<std::int64_t>(stage));
    std::vector<Pass> order;
    for (std::int64_t i = 0; i < plan_.micro_batches; ++i) {
      order.push_back({true, i});
      order.push_back({false, i});
    }
    return order;
  }

  bool can_add(std::size_t stage, const Pass& pass) const {
    const auto micro = static_cast<std::size_t>(pass.micro);
    if (pass.forward) return stage == 0 || arrived_forward_[stage][micro] != engine::none;
    return stage + 1 == stages_.size() || arrived_backward_[stage][micro] != engine::none;
  }

  std::span<const Block> blocks_of(std::size_t stage) const {
    return std::span(job_.blocks).subspan(stages_[stage].first_block, stages_[stage].blocks);
  }

  // `after` may hold engine::none: nothing to wait for.
  Task add_task(Lane lane, double seconds, std::initializer_list<Task> after = {}) {
    const Task task = graph_.add_task({seconds}, {lane});
    for (const Task before : after)
      if (before != engine::none) graph_.wait_for(before);
    return task;
  }

  Task compute(std::size_t stage, double seconds, std::initializer_list<Task> after) {
    stages_[stage].compute_s += seconds;
    return add_task(compute_[stage], seconds, after);
  }

  Task communicate(std::size_t stage, Lane lane, const Cost& cost, double sent_bytes,
                   std::initializer_list<Task> after) {
    stages_[stage].sent_bytes += sent_bytes;
    return add_task(lane, cost.total_s(), after);
  }

  double ring_bytes(double bytes) const {  // of one half of a ring, a rank
    return bytes * static_cast<double>(plan_.data - 1) / static_cast<double>(plan_.data);
  }

  // ZeRO-3: the parameters of the block that is computed next but `prefetch_blocks`, over all passes of the stage:
  // there is room for them when the block as far before it is done.
  Task gathered(std::size_t stage, const Block& block) {
    if (plan_.zero < 3 || plan_.data == 1) return engine::none;
    const auto ahead = static_cast<std::size_t>(plan_.prefetch_blocks) + 1;
    const std::size_t number = gathers_[stage]++;
    const Task room = number >= ahead ? done_[stage][number - ahead] : engine::none;
    const double bytes = costs_.held_bytes(block);
    return communicate(stage, communication_[stage], costs_.gather(stage, bytes), ring_bytes(bytes), {room});
  }

  void add_tensor(std::size_t stage, const Block& block) {
    if (plan_.tensor == 1) return;
    stages_[stage].sent_bytes += block.tensor_all_reduces * 2.0 * block.output_bytes *
                                 static_cast<double>(plan_.tensor - 1) / static_cast<double>(plan_.tensor);
  }

  void add(std::size_t stage, const Pass& pass) {
    const auto blocks = blocks_of(stage);
    const auto micro = static_cast<std::size_t>(pass.micro);
    const Task arrived = pass.forward ? arrived_forward_[stage][micro] : arrived_backward_[stage][micro];
    std::vector<Task>& done = done_[stage];
    if (pass.forward && stage == 0 && job_.data_s > 0.0) compute(stage, job_.data_s, {});
    // Prefetching: the next blocks' gathers are issued before the block they overlap with.
    std::vector<Task> gathers(blocks.size(), engine::none);
    const auto ahead = static_cast<std::size_t>(plan_.prefetch_blocks) + 1;
    const auto in_pass = [&](std::size_t number) -> const Block& {
      return pass.forward ? blocks[number] : blocks[blocks.size() - 1 - number];
    };
    for (std::size_t number = 0; number < std::min(ahead, blocks.size()); ++number)
      gathers[number] = gathered(stage, in_pass(number));
    for (std::size_t number = 0; number < blocks.size(); ++number) {
      const Block& block = in_pass(number);
      const double own_s = costs_.compute_s(pass.forward ? block.forward_s : block.backward_s);
      Task last = compute(stage, own_s, {arrived, gathers[number]});
      // On the critical path: the next block needs the sum.
      if (const double tensor_s = costs_.tensor_s(stage, block); tensor_s > 0.0)
        last = add_task(compute_[stage], tensor_s);
      add_tensor(stage, block);
      done.push_back(last);
      // ZeRO-3: the gather that this block made room for comes before its own gradients' reduction.
      if (number + ahead < blocks.size()) gathers[number + ahead] = gathered(stage, in_pass(number + ahead));
      if (!pass.forward) gradient_ready(stage, pass, number, last);
    }
    if (!pass.forward && plan_.zero >= 2) reduce_held_back(stage);
    hand_on(stage, pass, done.back());
  }

  void hand_on(std::size_t stage, const Pass& pass, Task last) {
    const auto micro = static_cast<std::size_t>(pass.micro);
    if (pass.forward && stage + 1 < stages_.size()) {
      const double bytes = blocks_of(stage).back().output_bytes;
      arrived_forward_[stage + 1][micro] =
          communicate(stage, forward_link_[stage], costs_.send(stage, stage + 1, bytes),
                      bytes / static_cast<double>(plan_.tensor), {last});
    } else if (!pass.forward && stage > 0) {
      const double bytes = blocks_of(stage - 1).back().output_bytes;
      arrived_backward_[stage - 1][micro] =
          communicate(stage, backward_link_[stage], costs_.send(stage - 1, stage - 1, bytes),
                      bytes / static_cast<double>(plan_.tensor), {last});
    }
  }

  // DDP's buckets of a stage's blocks, by the block (in backward order) that completes each.
  const std::vector<std::pair<std::size_t, double>>& buckets_of(std::size_t stage) {
    auto& made = buckets_[stage];
    if (!made.empty()) return made;
    const auto blocks = blocks_of(stage);
    std::vector<step::Gradient> gradients;
    for (std::size_t number = 0; number < blocks.size(); ++number)
      gradients.push_back({std::llround(costs_.gradient_bytes(blocks[blocks.size() - 1 - number])), 0, 0});
    std::vector<std::int64_t> order(blocks.size());
    std::iota(order.begin(), order.end(), 0);
    for (const auto& bucket : step::rebuilt_buckets(gradients, order, plan_.buckets))
      made.emplace_back(static_cast<std::size_t>(bucket.back()),
                        static_cast<double>(step::bucket_bytes(gradients, bucket)));
    return made;
  }

  void gradient_ready(std::size_t stage, const Pass& pass, std::size_t number, Task last) {
    if (plan_.data == 1) return;
    const bool last_micro = pass.micro + 1 == plan_.micro_batches;
    // Sharded gradients cannot wait on a rank for the next micro-batch.
    if (!last_micro && plan_.zero < 2) return;
    if (plan_.zero == 3) {
      const auto blocks = blocks_of(stage);
      reduce(stage, costs_.gradient_bytes(blocks[blocks.size() - 1 - number]), last);
      return;
    }
    for (const auto& [completes, bytes] : buckets_of(stage))
      if (completes == number) reduce(stage, bytes, last);
  }

  void reduce(std::size_t stage, double bytes, Task after) {
    if (!plan_.overlap) {
      held_back_[stage].push_back(bytes);
      return;
    }
    add_reduction(stage, bytes, after);
  }

  void reduce_held_back(std::size_t stage) {
    if (held_back_[stage].empty()) return;
    // Behind everything on the compute lane: a task without time marks where the backward has ended.
    const Task ended = compute(stage, 0.0, {});
    for (const double bytes : held_back_[stage]) add_reduction(stage, bytes, ended);
    held_back_[stage].clear();
  }

  void add_reduction(std::size_t stage, double bytes, Task after) {
    reductions_[stage].push_back(communicate(stage, communication_[stage], costs_.reduce(stage, bytes),
                                             (plan_.zero == 0 ? 2.0 : 1.0) * ring_bytes(bytes), {after}));
  }

  void finish(std::size_t stage) {
    const double shards = plan_.zero >= 1 ? static_cast<double>(plan_.data) : 1.0;
    const auto blocks = blocks_of(stage);
    double held = 0.0, all = 0.0;
    for (const Block& block : blocks) held += costs_.held_bytes(block);
    for (const Block& block : job_.blocks) all += block.parameter_bytes;
    reduce_held_back(stage);
    const double share = all > 0.0 ? held / all : 1.0 / static_cast<double>(stages_.size() * plan_.tensor);
    const double optimizer_s = job_.optimizer_s * share / shards;
    stages_[stage].compute_s += optimizer_s;
    const Task stepped = graph_.add_task({optimizer_s}, compute_[stage], reductions_[stage]);
    if ((plan_.zero == 1 || plan_.zero == 2) && plan_.data > 1)
      communicate(stage, communication_[stage], costs_.gather(stage, held), ring_bytes(held), {stepped});
    set_memory(stage, held);
  }

  void set_memory(std::size_t stage, double held) {
    const auto replicas = static_cast<double>(plan_.data);
    Memory& memory = stages_[stage].memory;
    memory.parameters_bytes = plan_.zero >= 3 ? held / replicas : held;
    memory.gradients_bytes = held * job_.gradient_bytes / (plan_.zero >= 2 ? replicas : 1.0);
    memory.optimizer_bytes = held * job_.optimizer_bytes / (plan_.zero >= 1 ? replicas : 1.0);
    double kept = 0.0, largest = 0.0;
    for (const Block& block : blocks_of(stage)) {
      kept += block.activation_bytes / static_cast<double>(plan_.tensor);
      largest = std::max(largest, costs_.held_bytes(block));
    }
    memory.activations_bytes = kept * static_cast<double>(in_flight(plan_, static_cast<std::int64_t>(stage)));
    // The gradients of a block before they are scattered, and blocks that are gathered for a while.
    if (plan_.zero >= 2 && plan_.data > 1) memory.gradients_bytes += largest * job_.gradient_bytes;
    if (plan_.zero >= 3 && plan_.data > 1)
      memory.parameters_bytes +=
          largest * static_cast<double>(std::min<std::size_t>(static_cast<std::size_t>(plan_.prefetch_blocks) + 1,
                                                              stages_[stage].blocks));
  }

  Outcome outcome() {
    Outcome made;
    for (const engine::Times& times : engine::simulate(graph_)) made.step_s = std::max(made.step_s, times.end_s);
    for (const Stage& stage : stages_) made.compute_s = std::max(made.compute_s, stage.compute_s);
    made.stages = stages_;
    return made;
  }

  const Job& job_;
  const Plan& plan_;
  Costs costs_;
  engine::Graph graph_;
  std::vector<std::size_t> starts_;
  std::vector<Lane> compute_, communication_, forward_link_, backward_link_;
  std::vector<Stage> stages_;
  std::vector<std::vector<Task>> arrived_forward_, arrived_backward_;  // by stage and micro-batch
  std::vector<std::vector<Task>> done_;  // by stage: its blocks' passes, in the order of computing
  std::vector<std::size_t> gathers_;     // by stage
  std::vector<std::vector<std::pair<std::size_t, double>>> buckets_;
  std::vector<std::vector<double>> held_back_;
  std::vector<std::vector<Task>> reductions_;
};

Network free_links(Network network) {
  network.inside = network.across = {};
  return network;
}

}  // namespace

std::vector<std::size_t> balanced_stages(const Job& job, std::size_t stages) {
  const std::size_t count = job.blocks.size();
  require(stages >= 1 && stages <= count,
          "cannot cut " + std::to_string(count) + " blocks into " + std::to_string(stages) + " stages");
  std::vector<double> until(count + 1, 0.0);
  for (std::size_t i = 0; i < count; ++i) until[i + 1] = until[i] + job.blocks[i].forward_s + job.blocks[i].backward_s;
  // slowest[k][i]: of the first i blocks in k stages; the last of them begins at cut[k][i].
  constexpr double never = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> slowest(stages + 1, std::vector<double>(count + 1, never));
  std::vector<std::vector<std::size_t>> cut(stages + 1, std::vector<std::size_t>(count + 1, 0));
  slowest[0][0] = 0.0;
  for (std::size_t k = 1; k <= stages; ++k) {
    for (std::size_t i = k; i <= count; ++i) {
      for (std::size_t begin = k - 1; begin < i; ++begin) {
        const double time = std::max(slowest[k - 1][begin], until[i] - until[begin]);
        if (time < slowest[k][i]) {
          slowest[k][i] = time;
          cut[k][i] = begin;
        }
      }
    }
  }
  std::vector<std::size_t> starts(stages);
  std::size_t end = count;
  for (std::size_t k = stages; k >= 1; --k) end = starts[k - 1] = cut[k][end];
  return starts;
}

Outcome simulate(const Job& job, const Plan& plan, const Network& network) {
  validate(job, plan);
  Outcome outcome = Builder(job, plan, network).run();
  const double free_s = Builder(job, plan, free_links(network)).run().step_s;
  outcome.exposed_s = outcome.step_s - free_s;
  outcome.bubble_s = free_s - outcome.compute_s;
  return outcome;
}

}  // namespace ddpprof::strategy
