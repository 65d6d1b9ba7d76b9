#include "simulator/step/ddp_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace ddpprof::step {
namespace {

void require_time(double value, const char* name) {
  if (!(value >= 0.0) || !std::isfinite(value)) {
    throw std::invalid_argument("simulate: " + std::string(name) + " is " + std::to_string(value) +
                                " s, expected a finite time of 0 or more");
  }
}

// The backward pass and the collectives it launches, advanced from event to event. Between two events every rate is
// constant, so each next event's time is known exactly.
class Backward {
 public:
  explicit Backward(const DdpStep& step) : step_(step) {
    const double compute_s = step.forward_s + step.backward_s;
    const double lateness = compute_s > 0.0 ? step.straggler_s / compute_s : 0.0;
    length_s_ = step.backward_s + step.straggler_s;
    double launched_s = 0.0;
    for (const BucketWork& bucket : step.buckets) {
      const double ready_s = bucket.ready_s + lateness * (step.forward_s + bucket.ready_s);
      ready_.push_back(ready_s);
      launched_s = std::max(launched_s, ready_s);
      launch_at_.push_back(launched_s);
      // A hook may be seen a little after the backward's last kernel: the pass lasts as long as its last gradient.
      length_s_ = std::max(length_s_, launched_s);
    }
    times_.resize(step.buckets.size());
  }

  void run() {
    while (true) {
      start_what_is_ready();
      if (next_ == times_.size() && active_.empty()) break;
      advance(next_event_s());
    }
    if (progress_s_ < length_s_) advance_compute_to_end();
    for (std::size_t i = 0; i < times_.size(); ++i) {
      times_[i].ready_s = wall_at(ready_[i]);
      times_[i].launch_s = wall_at(launch_at_[i]);
    }
  }

  double backward_end_s() const { return backward_end_s_; }
  double communication_s() const { return communication_s_; }
  double overlapped_s() const { return overlapped_s_; }
  const std::vector<BucketTimes>& times() const { return times_; }

 private:
  struct Passed {
    double progress_s;
    double wall_s;
  };
  struct Active {
    std::size_t bucket;
    double fixed_left_s;   // latency and reduction: not shared
    double shared_left_s;  // bandwidth, at full speed
    double pace;           // beside compute, of its speed alone
  };

  double compute_rate() const { return active_.empty() ? 1.0 : 1.0 / step_.slowdown; }

  void start_what_is_ready() {
    for (; next_ < times_.size() && launch_at_[next_] <= progress_s_; ++next_) {
      if (active_.size() == static_cast<std::size_t>(step_.lanes)) return;
      times_[next_].start_s = now_s_;
      const collective::Cost& cost = step_.buckets[next_].cost;
      const double alone_s = cost.total_s(), beside_s = alone_s + step_.buckets[next_].beside_compute_s;
      active_.push_back(
          {next_, cost.latency_s + cost.reduction_s, cost.bandwidth_s, beside_s > alone_s ? alone_s / beside_s : 1.0});
      finish_completed();
    }
  }

  double link_share() const {
    if (!step_.lanes_share_link) return 1.0;
    const auto users = std::count_if(active_.begin(), active_.end(), [](const Active& active) {
      return active.fixed_left_s == 0.0 && active.shared_left_s > 0.0;
    });
    return users > 1 ? 1.0 / static_cast<double>(users) : 1.0;
  }

  double pace(const Active& active) const { return progress_s_ < length_s_ ? active.pace : 1.0; }

  // Until its latency, or then its transfer, is over at today's rates.
  double left_s(const Active& active, double share) const {
    return (active.fixed_left_s > 0.0 ? active.fixed_left_s : active.shared_left_s / share) / pace(active);
  }

  double next_event_s() const {
    double wait_s = std::numeric_limits<double>::infinity();
    if (progress_s_ < length_s_) {
      const bool blocked = next_ == times_.size() || launch_at_[next_] <= progress_s_;
      const double target_s = blocked ? length_s_ : launch_at_[next_];
      wait_s = (target_s - progress_s_) / compute_rate();
    }
    const double share = link_share();
    for (const Active& active : active_) wait_s = std::min(wait_s, left_s(active, share));
    return wait_s;
  }

  void advance(double wait_s) {
    const double share = link_share();
    const bool computing = progress_s_ < length_s_;
    for (Active& active : active_) {
      const bool latency = active.fixed_left_s > 0.0;
      double& left = latency ? active.fixed_left_s : active.shared_left_s;
      // The event that ends the wait lands exactly on its target, whatever rounding did to the rest.
      const double done = wait_s * pace(active) * (latency ? 1.0 : share);
      left = wait_s >= left_s(active, share) ? 0.0 : std::max(0.0, left - done);
    }
    if (computing) {
      const bool blocked = next_ == times_.size() || launch_at_[next_] <= progress_s_;
      const double target_s = blocked ? length_s_ : launch_at_[next_];
      const bool reached = wait_s >= (target_s - progress_s_) / compute_rate();
      progress_s_ = reached ? target_s : std::min(target_s, progress_s_ + wait_s * compute_rate());
    }
    if (!active_.empty()) {
      communication_s_ += wait_s;
      if (computing) overlapped_s_ += wait_s;
    }
    now_s_ += wait_s;
    if (computing) passed_.push_back({progress_s_, now_s_});
    if (computing && progress_s_ >= length_s_) backward_end_s_ = now_s_;
    finish_completed();
  }

  void finish_completed() {
    std::erase_if(active_, [this](const Active& active) {
      const bool done = active.fixed_left_s == 0.0 && active.shared_left_s == 0.0;
      if (done) times_[active.bucket].end_s = now_s_;
      return done;
    });
  }

  void advance_compute_to_end() {
    now_s_ += length_s_ - progress_s_;
    progress_s_ = length_s_;
    passed_.push_back({progress_s_, now_s_});
    backward_end_s_ = now_s_;
  }

  // Wall time at which the backward passed a point of its own time; between two events its rate is constant.
  double wall_at(double progress_s) const {
    const auto above = std::lower_bound(passed_.begin(), passed_.end(), progress_s,
                                        [](const Passed& passed, double value) { return passed.progress_s < value; });
    if (above->progress_s == progress_s || above == passed_.begin()) return above->wall_s;
    const Passed& below = *(above - 1);
    const double share = (progress_s - below.progress_s) / (above->progress_s - below.progress_s);
    return below.wall_s + share * (above->wall_s - below.wall_s);
  }

  const DdpStep& step_;
  double length_s_ = 0.0;
  std::vector<double> ready_;
  std::vector<double> launch_at_;  // in the backward's own time
  std::vector<BucketTimes> times_;
  std::vector<Active> active_;
  std::vector<Passed> passed_ = {{0.0, 0.0}};
  std::size_t next_ = 0;     // bucket that starts next
  double now_s_ = 0.0;       // wall time
  double progress_s_ = 0.0;  // backward done, in its own time
  double backward_end_s_ = 0.0;
  double communication_s_ = 0.0;
  double overlapped_s_ = 0.0;
};

}  // namespace

void validate(const DdpStep& step) {
  require_time(step.data_s, "data_s");
  require_time(step.buffers_s, "buffers_s");
  require_time(step.forward_s, "forward_s");
  require_time(step.backward_s, "backward_s");
  require_time(step.optimizer_s, "optimizer_s");
  require_time(step.straggler_s, "straggler_s");
  if (!(step.slowdown >= 1.0) || !std::isfinite(step.slowdown)) {
    throw std::invalid_argument("simulate: slowdown " + std::to_string(step.slowdown) + ", expected 1 or more");
  }
  if (step.lanes < 1) {
    throw std::invalid_argument("simulate: " + std::to_string(step.lanes) + " lanes, expected 1 or more");
  }
  if (step.accumulation < 1) {
    throw std::invalid_argument("simulate: accumulation " + std::to_string(step.accumulation) + ", expected 1 or more");
  }
  for (const BucketWork& bucket : step.buckets) {
    require_time(bucket.ready_s, "a bucket's ready_s");
    require_time(bucket.cost.latency_s, "a bucket's latency_s");
    require_time(bucket.cost.bandwidth_s, "a bucket's bandwidth_s");
    require_time(bucket.cost.reduction_s, "a bucket's reduction_s");
    require_time(bucket.copy_back_s, "a bucket's copy_back_s");
    require_time(bucket.beside_compute_s, "a bucket's beside_compute_s");
  }
}

DdpResult simulate(const DdpStep& step) {
  validate(step);
  Backward backward(step);
  backward.run();

  DdpResult result;
  result.backward_s = backward.backward_end_s();
  result.communication_s = backward.communication_s();
  result.overlapped_s = backward.overlapped_s();
  result.buckets = backward.times();
  double finish_s = result.backward_s;
  double last_end_s = result.backward_s;
  for (std::size_t i = 0; i < step.buckets.size(); ++i) {
    finish_s = std::max(finish_s, result.buckets[i].end_s) + step.buckets[i].copy_back_s;
    last_end_s = std::max(last_end_s, result.buckets[i].end_s);
    result.cost = result.cost + step.buckets[i].cost;
  }
  result.finish_s = finish_s;
  result.exposed_copy_s = finish_s - last_end_s;
  result.exposed_s = step.buffers_s + (finish_s - result.backward_s);
  const auto earlier = static_cast<double>(step.accumulation - 1);
  result.step_s = earlier * (step.data_s + step.forward_s + step.backward_s) + step.data_s + step.buffers_s +
                  step.forward_s + finish_s + step.optimizer_s;
  return result;
}

}  // namespace ddpprof::step
