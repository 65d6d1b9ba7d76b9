// A step as a graph: tasks that take time, the lanes that they occupy in order, the links that they share, and the
// tasks that each of them waits for.
//
// A lane runs its tasks one after the other: a rank's compute thread or stream, its communication stream, a server. A
// task starts when its turn has come on its lane and all tasks that it waits for have ended. Times are seconds.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

namespace ddpprof::engine {

using Task = std::int32_t;  // tasks, lanes and links are numbered from 0 in the order of adding
using Lane = std::int32_t;
using Link = std::int32_t;
inline constexpr std::int32_t none = -1;

enum class Order {
  issue,  // as added: a task whose turn has come holds its place until it can start, as on a stream
  ready,  // first come, first served: a server's queue
};

struct Work {
  double fixed_s = 0.0;   // first: compute, latency
  double shared_s = 0.0;  // then: the transfer's time alone on `link`; transfers at the same time share the link evenly
  Link link = none;       // none: shared_s is not shared
};

// All additions throw std::invalid_argument for a number out of range, a negative or infinite time, or a task that
// waits for a task that was not added yet. So tasks never wait for each other in a circle.
class Graph {
 public:
  Lane add_lane(Order order = Order::issue);
  Link add_link();
  // A task without a lane starts as soon as all tasks that it waits for have ended.
  Task add_task(const Work& work, std::optional<Lane> lane, std::span<const Task> after);
  Task add_task(const Work& work, std::optional<Lane> lane, std::initializer_list<Task> after = {}) {
    return add_task(work, lane, std::span(after.begin(), after.size()));
  }
  // One more predecessor for the task that was added last.
  void wait_for(Task task);

  std::size_t tasks() const { return work_.size(); }
  std::size_t lanes() const { return orders_.size(); }
  std::size_t links() const { return links_; }
  const Work& work(Task task) const { return work_[static_cast<std::size_t>(task)]; }
  Order order(Lane lane) const { return orders_[static_cast<std::size_t>(lane)]; }
  // The lane of a task; none for a task without one.
  const Lane& lane_of(Task task) const { return lane_of_[static_cast<std::size_t>(task)]; }
  std::span<const Task> predecessors(Task task) const {
    const auto i = static_cast<std::size_t>(task);
    const std::size_t begin = i == 0 ? 0 : waits_end_[i - 1];
    return std::span(waits_).subspan(begin, waits_end_[i] - begin);
  }

 private:
  std::vector<Work> work_;
  std::vector<Lane> lane_of_;
  std::vector<Task> waits_;  // of all tasks, one after the other
  std::vector<std::uint32_t> waits_end_;
  std::vector<Order> orders_;  // by lane
  std::size_t links_ = 0;
};

struct Times {
  double start_s = 0.0;
  double end_s = 0.0;
};

// Returns when each task starts and ends. Discrete events with piecewise constant rates: exact except for rounding. The
// same graph gives the same bytes. O((tasks + waits) log tasks).
std::vector<Times> simulate(const Graph& graph);

}  // namespace ddpprof::engine
