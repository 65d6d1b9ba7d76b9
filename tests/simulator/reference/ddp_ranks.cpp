#include "tests/simulator/reference/ddp_ranks.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace ddpprof::step {
namespace {

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

constexpr std::size_t no_bucket = std::numeric_limits<std::size_t>::max();

class Ranks {
 public:
  Ranks(const DdpStep& step, const RankDifferences& differences)
      : step_(step), ranks_(differences.pace.size()), ended_(step.buckets.size()) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const std::size_t delays = rank * (step.buckets.size() + 1);
      add_work(ranks_[rank], differences.pace[rank],
               differences.extra_s.empty() ? nullptr : &differences.extra_s[delays]);
    }
    result_.buckets.resize(step.buckets.size());
    result_.last_rank.resize(step.buckets.size());
    result_.waited_s.resize(ranks_.size());
  }

  DdpRanksResult run() {
    while (true) {
      settle();
      double wait_s = std::numeric_limits<double>::infinity();
      visit_running([&](double& left_s, double speed) { wait_s = std::min(wait_s, left_s / speed); });
      if (std::isinf(wait_s)) break;  // nothing runs
      visit_running([&](double& left_s, double speed) {
        left_s = left_s / speed <= wait_s ? 0.0 : std::max(0.0, left_s - wait_s * speed);
      });
      now_s_ += wait_s;
    }
    result_.step_s = now_s_;
    return std::move(result_);
  }

 private:
  struct Work {
    double left_s = 0.0;
    bool backward = false;
    bool makes_bucket = false;      // at its end the next bucket is ready on this rank
    std::size_t after = no_bucket;  // whose collective must have ended
  };
  struct Rank {
    std::deque<Work> work;
    std::vector<double> ready_s;  // by bucket
  };
  struct Collective {
    std::size_t bucket = 0;
    double fixed_s = 0.0, shared_s = 0.0;  // what is left
    double speed_beside = 1.0;             // while a rank's backward runs
  };

  // `delays_s`: before each bucket and the end; nullptr for none.
  void add_work(Rank& rank, double pace, const double* delays_s) const {
    const std::size_t buckets = step_.buckets.size();
    const auto delay_s = [&](std::size_t part) { return delays_s ? delays_s[part] : 0.0; };
    const auto earlier = static_cast<double>(step_.accumulation - 1);
    rank.work.push_back({earlier * (step_.data_s + pace * (step_.forward_s + step_.backward_s)) + step_.data_s +
                         step_.buffers_s + pace * step_.forward_s});
    double reached_s = 0.0;  // of the backward, at pace 1
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
      const double ready_s = std::max(step_.buckets[bucket].ready_s, reached_s);
      rank.work.push_back({(ready_s - reached_s) * pace + delay_s(bucket), true, true});
      reached_s = ready_s;
    }
    const double rest_s = std::max(step_.backward_s, reached_s) - reached_s;
    rank.work.push_back({rest_s * pace + delay_s(buckets), true});
    for (std::size_t bucket = 0; bucket < buckets; ++bucket)
      rank.work.push_back({step_.buckets[bucket].copy_back_s, false, false, bucket});
    rank.work.push_back({step_.optimizer_s});
  }

  bool runs(const Rank& rank) const {
    if (rank.work.empty()) return false;
    const std::size_t after = rank.work.front().after;
    return after == no_bucket || ended_[after];
  }

  // Ends what has nothing left and starts collectives, until only time brings a change.
  void settle() {
    for (bool changed = true; changed;) {
      changed = start_collective();
      for (Rank& rank : ranks_) {
        for (; runs(rank) && rank.work.front().left_s == 0.0; changed = true) {
          if (rank.work.front().makes_bucket) rank.ready_s.push_back(now_s_);
          rank.work.pop_front();
        }
      }
      for (const Collective& one : active_) {
        if (one.fixed_s != 0.0 || one.shared_s != 0.0) continue;
        ended_[one.bucket] = changed = true;
        result_.buckets[one.bucket].end_s = now_s_;
      }
      std::erase_if(active_, [&](const Collective& one) { return ended_[one.bucket]; });
    }
  }

  // Collectives start in order, when all ranks are ready and one of the lanes is free.
  bool start_collective() {
    if (next_ == step_.buckets.size() || active_.size() == static_cast<std::size_t>(step_.lanes)) return false;
    if (std::ranges::any_of(ranks_, [&](const Rank& rank) { return rank.ready_s.size() <= next_; })) return false;
    BucketTimes& times = result_.buckets[next_];
    times = {ranks_.front().ready_s[next_], 0.0, now_s_, 0.0};
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const double ready_s = ranks_[rank].ready_s[next_];
      times.ready_s = std::min(times.ready_s, ready_s);
      if (ready_s > times.launch_s) result_.last_rank[next_] = static_cast<std::int64_t>(rank);
      times.launch_s = std::max(times.launch_s, ready_s);
      result_.waited_s[rank] += now_s_ - ready_s;
    }
    const BucketWork& work = step_.buckets[next_];
    const double alone_s = work.cost.total_s();
    active_.push_back({next_, work.cost.latency_s + work.cost.reduction_s, work.cost.bandwidth_s,
                       alone_s > 0.0 ? alone_s / (alone_s + work.beside_compute_s) : 1.0});
    ++next_;
    return true;
  }

  // Calls `visit` with what is left of everything that runs, and with its speed.
  template <class Visit>
  void visit_running(Visit visit) {
    const double compute_speed = active_.empty() ? 1.0 : 1.0 / step_.slowdown;
    const bool backward =
        std::ranges::any_of(ranks_, [](const Rank& rank) { return !rank.work.empty() && rank.work.front().backward; });
    const auto transfers = std::ranges::count(active_, 0.0, &Collective::fixed_s);
    for (Rank& rank : ranks_)
      if (runs(rank)) visit(rank.work.front().left_s, compute_speed);
    for (Collective& one : active_) {
      const double speed = backward ? one.speed_beside : 1.0;
      if (one.fixed_s > 0.0)
        visit(one.fixed_s, speed);
      else
        visit(one.shared_s, step_.lanes_share_link ? speed / static_cast<double>(transfers) : speed);
    }
  }

  const DdpStep& step_;
  std::vector<Rank> ranks_;
  std::vector<Collective> active_;
  std::vector<bool> ended_;  // by bucket
  std::size_t next_ = 0;     // bucket whose collective starts next
  double now_s_ = 0.0;
  DdpRanksResult result_;
};

}  // namespace

DdpRanksResult simulate(const DdpStep& step, const RankDifferences& ranks) {
  validate(step, ranks);
  return Ranks(step, ranks).run();
}

}  // namespace ddpprof::step
