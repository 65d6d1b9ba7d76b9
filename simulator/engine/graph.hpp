// A step as a graph: tasks that take time, the lanes that they occupy in order, the links that they share, and the
// tasks that each of them waits for.
//
// A lane runs its tasks one after the other: a rank's compute thread or stream, its communication stream, a server. A
// collective is one task on a lane of every rank that takes part. It starts when its turn has come on all of these
// lanes and all tasks that it waits for have ended. Times are seconds.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace ddpprof::engine {

using Task = std::int32_t;  // tasks, lanes and links are numbered from 0 in the order of adding
using Lane = std::int32_t;
using Link = std::int32_t;
using Load = std::int32_t;
inline constexpr std::int32_t none = -1;

enum class Order {
  issue,  // as added: a task whose turn has come holds its place until it can start, as on a stream
  ready,  // first come, first served: a server's queue
};

struct LaneOptions {
  int capacity = 1;  // tasks in flight at once, as Gloo's threads: they start in order and may end in another
  Order order = Order::issue;
  // While a task runs on lane `slowed_by`, this lane's task runs at 1/slowdown of its speed: compute beside a
  // collective. Needs capacity 1 and tasks that occupy this lane only.
  Lane slowed_by = none;
  double slowdown = 1.0;
};

struct Work {
  double fixed_s = 0.0;   // first: compute, latency
  double shared_s = 0.0;  // then: the transfer's time alone on `link`; transfers at the same time share the link evenly
  Link link = none;       // none: shared_s is not shared
};

// All additions throw std::invalid_argument for a number out of range, a negative or infinite time, or a task that
// waits for a task that was not added yet.
class Graph {
 public:
  Lane add_lane(const LaneOptions& options = {});
  Link add_link();
  // A load is on while any of its tasks runs, for example the compute of ranks whose threads also carry a collective.
  Load add_load();
  Task add_task(const Work& work, std::span<const Lane> lanes, std::span<const Task> after);
  Task add_task(const Work& work, std::initializer_list<Lane> lanes, std::initializer_list<Task> after = {}) {
    return add_task(work, std::span(lanes.begin(), lanes.size()), std::span(after.begin(), after.size()));
  }
  // One more lane or predecessor for the task that was added last.
  void occupy(Lane lane);
  void wait_for(Task task);
  // The task that was added last is part of the load.
  void carry(Load load);
  // The task that was added last runs at 1/slowdown of its speed, latency and transfer alike, while the load is on. A
  // task has at most one such load, must not be part of it, and must not occupy a lane that is slowed by another lane.
  // Throws std::invalid_argument otherwise, and for a slowdown below 1.
  void slow_beside(Load load, double slowdown);

  void reserve(std::size_t tasks, std::size_t places, std::size_t waits);

  std::size_t tasks() const { return work_.size(); }
  std::size_t lanes() const { return lanes_.size(); }
  std::size_t links() const { return links_; }
  std::size_t loads() const { return loads_; }
  const Work& work(Task task) const { return work_[static_cast<std::size_t>(task)]; }
  const LaneOptions& lane(Lane lane) const { return lanes_[static_cast<std::size_t>(lane)]; }
  std::span<const Lane> lanes_of(Task task) const { return part(places_, places_end_, task); }
  std::span<const Task> predecessors(Task task) const { return part(waits_, waits_end_, task); }

  struct Carried {
    Task task;
    Load load;
  };
  struct SlowedBeside {
    Task task;
    Load load;
    double slowdown;
  };
  std::span<const Carried> carried() const { return carried_; }  // both by task
  std::span<const SlowedBeside> slowed_beside() const { return slowed_; }

 private:
  static std::span<const std::int32_t> part(const std::vector<std::int32_t>& all, const std::vector<std::uint32_t>& end,
                                            Task task) {
    const auto i = static_cast<std::size_t>(task);
    const std::size_t begin = i == 0 ? 0 : end[i - 1];
    return std::span(all).subspan(begin, end[i] - begin);
  }

  std::vector<Work> work_;
  std::vector<std::int32_t> places_, waits_;  // of all tasks, one after the other
  std::vector<std::uint32_t> places_end_, waits_end_;
  std::vector<LaneOptions> lanes_;
  std::size_t links_ = 0, loads_ = 0;
  // Few tasks have a load. They are stored separately so that the other tasks need no memory for it.
  std::vector<Carried> carried_;
  std::vector<SlowedBeside> slowed_;
};

struct Times {
  double ready_s = 0.0;  // all tasks that it waits for have ended
  double start_s = 0.0;
  double end_s = 0.0;
};

// Returns when each task starts and ends. Discrete events with piecewise constant rates: exact except for rounding. The
// same graph gives the same bytes. O((tasks + places + waits) log tasks). Throws std::logic_error, naming one task, if
// tasks wait for each other in a circle.
std::vector<Times> simulate(const Graph& graph);

}  // namespace ddpprof::engine
