#include "simulator/strategy/zero_step.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "simulator/collective/collectives.hpp"
#include "simulator/engine/graph.hpp"

namespace ddpprof::strategy {
namespace {

using engine::Lane;
using engine::Task;

constexpr std::size_t gathered_blocks = 2;  // ZeRO-3: held at once, the one that computes and the next

void require(bool holds, const std::string& what) {
  if (!holds) throw std::invalid_argument("strategy: " + what);
}

void validate(const ZeroStep& step) {
  require(!step.blocks.empty(), "no block, expected at least one");
  for (const std::int64_t count : {step.workers, step.micro_batches})
    require(count >= 1, "a count of " + std::to_string(count) + ", expected 1 or more");
  require(step.stage >= 0 && step.stage <= 3, "ZeRO stage " + std::to_string(step.stage) + ", expected 0 to 3");
  for (const Block& block : step.blocks)
    for (const double figure : {block.forward_s, block.backward_s, block.parameter_bytes})
      require(figure >= 0.0 && std::isfinite(figure), "a block's figure is below 0 or not finite");
  for (const double figure : {step.data_s, step.optimizer_s, step.gradient_bytes})
    require(figure >= 0.0 && std::isfinite(figure), "a step's figure is below 0 or not finite");
}

class Builder {
 public:
  Builder(const ZeroStep& step, const collective::Link& link)
      : step_(step), link_(link), compute_(graph_.add_lane()), communication_(graph_.add_lane()) {
    make_buckets();
  }

  ZeroOutcome run() {
    for (std::int64_t micro = 0; micro < step_.micro_batches; ++micro) {
      if (step_.data_s > 0.0) compute(step_.data_s);
      add_pass(true, false);
      add_pass(false, micro + 1 == step_.micro_batches);
    }
    add_optimizer();
    for (const engine::Times& times : engine::simulate(graph_))
      outcome_.step_s = std::max(outcome_.step_s, times.end_s);
    return outcome_;
  }

 private:
  double gradient_bytes(const Block& block) const { return block.parameter_bytes * step_.gradient_bytes; }

  // DDP's buckets of the blocks, by the block (in backward order) that completes each.
  void make_buckets() {
    std::vector<step::Gradient> gradients;
    for (auto block = step_.blocks.rbegin(); block != step_.blocks.rend(); ++block)
      gradients.push_back({std::llround(gradient_bytes(*block)), 0, 0});
    std::vector<std::int64_t> order(gradients.size());
    std::iota(order.begin(), order.end(), 0);
    for (const auto& bucket : step::rebuilt_buckets(gradients, order, step_.buckets))
      buckets_.emplace_back(static_cast<std::size_t>(bucket.back()),
                            static_cast<double>(step::bucket_bytes(gradients, bucket)));
  }

  Task compute(double seconds) {
    outcome_.compute_s += seconds;
    return graph_.add_task({seconds}, compute_);
  }

  Task communicate(const collective::Cost& cost) { return graph_.add_task({cost.total_s()}, communication_); }

  void add_pass(bool forward, bool last_backward) {
    const std::size_t count = step_.blocks.size();
    const auto in_pass = [&](std::size_t number) -> const Block& {
      return step_.blocks[forward ? number : count - 1 - number];
    };
    // Prefetching: the next block's gather is issued before the block that it overlaps with.
    std::vector<Task> gathers(count, engine::none);
    for (std::size_t number = 0; number < std::min(gathered_blocks, count); ++number)
      gathers[number] = gather(in_pass(number));
    for (std::size_t number = 0; number < count; ++number) {
      const Task computed = compute(forward ? in_pass(number).forward_s : in_pass(number).backward_s);
      if (gathers[number] != engine::none) graph_.wait_for(gathers[number]);
      computed_.push_back(computed);
      // The gather that this block made room for comes before its own gradients' reduction.
      if (number + gathered_blocks < count)
        gathers[number + gathered_blocks] = gather(in_pass(number + gathered_blocks));
      if (!forward) reduce_ready(number, in_pass(number), last_backward, computed);
    }
  }

  // ZeRO-3: the parameters of a block. There is room for them when the block as far before it is done.
  Task gather(const Block& block) {
    if (step_.stage < 3 || step_.workers == 1) return engine::none;
    const std::size_t number = gathers_++;
    const Task gathered = communicate(collective::ring_all_gather(step_.workers, block.parameter_bytes, link_));
    if (number >= gathered_blocks) graph_.wait_for(computed_[number - gathered_blocks]);
    return gathered;
  }

  // `number`: of the block, in backward order.
  void reduce_ready(std::size_t number, const Block& block, bool last_backward, Task after) {
    if (step_.workers == 1) return;
    // Sharded gradients cannot wait on a rank for the next micro-batch.
    if (!last_backward && step_.stage < 2) return;
    if (step_.stage == 3) {
      reduce(gradient_bytes(block), after);
      return;
    }
    for (const auto& [completes, bytes] : buckets_)
      if (completes == number) reduce(bytes, after);
  }

  void reduce(double bytes, Task after) {
    reductions_.push_back(communicate(step_.stage == 0
                                          ? collective::ring(step_.workers, bytes, link_)
                                          : collective::ring_reduce_scatter(step_.workers, bytes, link_)));
    graph_.wait_for(after);
  }

  void add_optimizer() {
    const Task stepped = compute(step_.stage >= 1 ? step_.optimizer_s / static_cast<double>(step_.workers)
                                                  : step_.optimizer_s);
    for (const Task reduction : reductions_) graph_.wait_for(reduction);
    if ((step_.stage != 1 && step_.stage != 2) || step_.workers == 1) return;
    double parameter_bytes = 0.0;
    for (const Block& block : step_.blocks) parameter_bytes += block.parameter_bytes;
    communicate(collective::ring_all_gather(step_.workers, parameter_bytes, link_));
    graph_.wait_for(stepped);
  }

  const ZeroStep& step_;
  collective::Link link_;
  engine::Graph graph_;
  Lane compute_, communication_;
  ZeroOutcome outcome_;
  std::vector<std::pair<std::size_t, double>> buckets_;
  std::vector<Task> computed_;  // the blocks' passes, in the order of computing
  std::size_t gathers_ = 0;
  std::vector<Task> reductions_;
};

}  // namespace

ZeroOutcome simulate(const ZeroStep& step) {
  validate(step);
  ZeroOutcome outcome = Builder(step, step.link).run();
  outcome.exposed_s = outcome.step_s - Builder(step, {}).run().step_s;
  return outcome;
}

}  // namespace ddpprof::strategy
