#include "tests/simulator/reference/ddp_ranks.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "simulator/engine/graph.hpp"

namespace ddpprof::step {
namespace {

using engine::Task;

void validate(const DdpStep& step, const RankDifferences& ranks) {
  step::validate(step);
  if (ranks.pace.empty()) throw std::invalid_argument("ranks: none, expected at least one");
  for (const double pace : ranks.pace)
    if (!(pace > 0.0) || !std::isfinite(pace))
      throw std::invalid_argument("ranks: a pace of " + std::to_string(pace) + ", expected above 0");
  const std::size_t delays = ranks.pace.size() * (step.buckets.size() + 1);
  if (!ranks.extra_s.empty() && ranks.extra_s.size() != delays)
    throw std::invalid_argument("ranks: " + std::to_string(ranks.extra_s.size()) + " delays, expected " +
                                std::to_string(delays) + " (ranks x (buckets + 1)) or none");
  for (const double delay_s : ranks.extra_s)
    if (!(delay_s >= 0.0) || !std::isfinite(delay_s))
      throw std::invalid_argument("ranks: a delay of " + std::to_string(delay_s) + " s, expected 0 or more");
  if (step.straggler_s != 0.0)
    throw std::invalid_argument("ranks: straggler_s is not 0, but `ranks` contains the lateness; set straggler_s to 0");
}

class Ranks {
 public:
  Ranks(const DdpStep& step, const RankDifferences& differences) : step_(step), differences_(differences) {
    const std::size_t ranks = differences.pace.size(), buckets = step.buckets.size();
    graph_.reserve(ranks * (2 * buckets + 3) + buckets, ranks * (3 * buckets + 3), ranks * 2 * buckets);
    link_ = step.lanes_share_link ? graph_.add_link() : engine::none;
    for (const BucketWork& bucket : step.buckets)
      if (bucket.beside_compute_s > 0.0 && backward_ == engine::none) backward_ = graph_.add_load();
    const bool slowed = step.slowdown > 1.0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      communication_.push_back(graph_.add_lane({.capacity = step.lanes}));
      compute_.push_back(
          graph_.add_lane({.slowed_by = slowed ? communication_.back() : engine::none, .slowdown = step.slowdown}));
    }
  }

  DdpRanksResult run() {
    add_forward();
    for (std::size_t bucket = 0; bucket < step_.buckets.size(); ++bucket) add_bucket(bucket);
    add_end();
    const auto times = engine::simulate(graph_);
    const std::size_t ranks = compute_.size();
    DdpRanksResult result;
    result.waited_s.assign(ranks, 0.0);
    for (const engine::Times& one : times) result.step_s = std::max(result.step_s, one.end_s);
    for (std::size_t bucket = 0; bucket < collectives_.size(); ++bucket) {
      const engine::Times& collective = times[static_cast<std::size_t>(collectives_[bucket])];
      // The parts of a bucket's ranks were added one after the other, just before its collective.
      const auto first = static_cast<std::size_t>(collectives_[bucket]) - ranks;
      std::size_t earliest = 0, latest = 0;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const double end_s = times[first + rank].end_s;
        if (end_s < times[first + earliest].end_s) earliest = rank;
        if (end_s > times[first + latest].end_s) latest = rank;
        result.waited_s[rank] += collective.start_s - end_s;
      }
      result.buckets.push_back(
          {times[first + earliest].end_s, times[first + latest].end_s, collective.start_s, collective.end_s});
      result.last_rank.push_back(static_cast<std::int64_t>(latest));
    }
    return result;
  }

 private:
  double delay_s(std::size_t rank, std::size_t part) const {
    return differences_.extra_s.empty() ? 0.0 : differences_.extra_s[rank * (step_.buckets.size() + 1) + part];
  }
  Task compute(std::size_t rank, double seconds) { return graph_.add_task({seconds}, {compute_[rank]}); }
  void backward(std::size_t rank, double seconds) {
    compute(rank, seconds);
    if (backward_ != engine::none) graph_.carry(backward_);
  }

  void add_forward() {
    const auto earlier = static_cast<double>(step_.accumulation - 1);
    for (std::size_t rank = 0; rank < compute_.size(); ++rank) {
      const double pace = differences_.pace[rank];
      compute(rank, earlier * (step_.data_s + pace * (step_.forward_s + step_.backward_s)) + step_.data_s +
                        step_.buffers_s + pace * step_.forward_s);
    }
  }

  void add_bucket(std::size_t bucket) {
    const BucketWork& work = step_.buckets[bucket];
    const double ready_s = std::max(work.ready_s, reached_s_);
    for (std::size_t rank = 0; rank < compute_.size(); ++rank)
      backward(rank, (ready_s - reached_s_) * differences_.pace[rank] + delay_s(rank, bucket));
    const auto first = static_cast<Task>(graph_.tasks() - compute_.size());
    const collective::Cost& cost = work.cost;
    const Task collective =
        graph_.add_task({cost.latency_s + cost.reduction_s, cost.bandwidth_s, link_}, communication_, {});
    for (Task part = first; part < collective; ++part) graph_.wait_for(part);
    if (const double alone_s = cost.total_s(); work.beside_compute_s > 0.0 && alone_s > 0.0)
      graph_.slow_beside(backward_, (alone_s + work.beside_compute_s) / alone_s);
    collectives_.push_back(collective);
    reached_s_ = ready_s;
  }

  void add_end() {
    const std::size_t buckets = step_.buckets.size();
    const double rest_s = std::max(step_.backward_s, reached_s_) - reached_s_;
    for (std::size_t rank = 0; rank < compute_.size(); ++rank) {
      backward(rank, rest_s * differences_.pace[rank] + delay_s(rank, buckets));
      // Copies back in order; a bucket without one is only waited for.
      std::vector<Task> uncopied;
      for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
        if (step_.buckets[bucket].copy_back_s > 0.0)
          graph_.add_task({step_.buckets[bucket].copy_back_s}, {compute_[rank]}, {collectives_[bucket]});
        else
          uncopied.push_back(collectives_[bucket]);
      }
      graph_.add_task({step_.optimizer_s}, std::span(&compute_[rank], 1), uncopied);
    }
  }

  const DdpStep& step_;
  const RankDifferences& differences_;
  engine::Graph graph_;
  engine::Link link_ = engine::none;
  engine::Load backward_ = engine::none;  // of any rank
  std::vector<engine::Lane> compute_, communication_;
  std::vector<Task> collectives_;
  double reached_s_ = 0.0;  // of the backward, in its own time
};

}  // namespace

DdpRanksResult simulate(const DdpStep& step, const RankDifferences& ranks) {
  validate(step, ranks);
  return Ranks(step, ranks).run();
}

}  // namespace ddpprof::step
