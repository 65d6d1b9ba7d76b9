#include "analysis/predict/step_model/other_strategy.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "simulator/strategy/parameter_server.hpp"
#include "simulator/strategy/zero_step.hpp"

namespace ddpprof::fit {
namespace {

// Returns blocks in forward order. The backward of each lasts from the ready time of the bucket before to its own.
std::vector<strategy::Block> blocks_of(const step::DdpStep& work, std::span<const Bucket> buckets, double forward_s) {
  std::vector<strategy::Block> blocks;
  double reached_s = 0.0;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    strategy::Block block;
    const bool last = i + 1 == buckets.size();
    const double end_s = last ? work.backward_s : std::clamp(work.buckets[i].ready_s, reached_s, work.backward_s);
    block.backward_s = end_s - reached_s;
    reached_s = end_s;
    if (work.backward_s > 0.0) block.forward_s = forward_s * block.backward_s / work.backward_s;
    block.parameter_bytes = static_cast<double>(buckets[i].bytes);
    blocks.push_back(block);
  }
  std::reverse(blocks.begin(), blocks.end());
  return blocks;
}

void bound(std::int64_t transfers, const std::string& what, const std::string& advice) {
  if (transfers > most_transfers)
    throw std::invalid_argument(what + " need " + std::to_string(transfers) +
                                " transfers per step, and a simulation has at most " + std::to_string(most_transfers) +
                                ": " + advice);
}

OtherOutcome simulate_zero(int stage, const OtherStrategy& other, const step::DdpStep& work,
                           std::span<const Bucket> buckets, const collective::Link& link) {
  bound(other.accumulation * static_cast<std::int64_t>(buckets.size()),
        std::to_string(other.accumulation) + " micro-batches of " + std::to_string(buckets.size()) + " buckets",
        "predict fewer micro-batches");
  strategy::ZeroStep step;
  step.blocks = blocks_of(work, buckets, other.micro_forward_s);
  step.workers = other.workers;
  step.micro_batches = other.accumulation;
  step.data_s = work.data_s / static_cast<double>(other.accumulation);
  step.optimizer_s = work.optimizer_s;
  step.gradient_bytes = other.gradient_bytes;
  step.link = link;
  step.buckets = {1, 1};  // every block is one bucket
  const strategy::ZeroOutcome ddp = strategy::simulate(step);
  step.stage = stage;
  const strategy::ZeroOutcome zero = strategy::simulate(step);
  return {zero.compute_s - ddp.compute_s, zero.exposed_s - ddp.exposed_s, true};
}

OtherOutcome simulate_servers(const OtherStrategy& other, const step::DdpStep& work, std::span<const Bucket> buckets,
                              const collective::Link& link) {
  bound(other.workers * other.servers,
        std::to_string(other.workers) + " workers and " + std::to_string(other.servers) + " servers",
        "predict fewer workers or servers");
  strategy::ParameterServerJob job;
  const double micro_s = other.micro_forward_s + work.backward_s;
  const double compute_s = work.data_s + static_cast<double>(other.accumulation) * micro_s;
  job.compute_s.assign(static_cast<std::size_t>(other.workers), compute_s);
  job.compute_s.back() += other.straggler_s;
  job.servers = other.servers;
  // Gradients are sent one way and whole parameters back; the simulation assumes the same size for both.
  for (const Bucket& bucket : buckets)
    job.gradient_bytes += 0.5 * (1.0 + other.gradient_bytes) * static_cast<double>(bucket.bytes);
  job.apply_s = work.optimizer_s;
  job.link = link;
  job.asynchronous = other.name == "async-ps";
  const strategy::ParameterServerOutcome outcome = strategy::simulate(job);
  return {outcome.step_s - outcome.exposed_s - work.data_s, outcome.exposed_s, false};
}

}  // namespace

OtherOutcome simulate_other(const OtherStrategy& other, const step::DdpStep& work, std::span<const Bucket> buckets,
                            const collective::Link& link) {
  if (other.name.ends_with("ps")) return simulate_servers(other, work, buckets, link);
  return simulate_zero(other.name.back() - '0', other, work, buckets, link);
}

collective::Link equivalent_link(std::int64_t workers, double bytes, std::size_t buckets,
                                 const collective::Cost& cost) {
  const auto steps = 2.0 * static_cast<double>(workers - 1);
  collective::Link link;
  if (steps > 0.0 && buckets > 0) link.latency_s = cost.latency_s / (steps * static_cast<double>(buckets));
  if (steps > 0.0 && bytes > 0.0)
    link.bandwidth_s_per_byte = (cost.bandwidth_s + cost.reduction_s) / (steps / static_cast<double>(workers) * bytes);
  return link;
}

}  // namespace ddpprof::fit
