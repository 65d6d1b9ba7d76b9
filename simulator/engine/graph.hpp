// A step as a graph: tasks that take time, the lanes they occupy in order, the links they share, and what waits for
// what.
//
// A lane is anything that runs its tasks one after the other: a rank's compute thread or stream, its communication
// stream, a server. A collective is one task on a lane of every rank that takes part: it starts when it is its turn on
// all of them and all that it waits for has ended. Times are seconds.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace ddpprof::engine {

using Task = std::int32_t;  // numbered from 0 in the order of adding; so are lanes and links
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
  // While anything runs on lane `slowed_by`, this lane's task runs at 1/slowdown of its speed: compute beside a
  // collective. Capacity 1 and tasks of this lane alone.
  Lane slowed_by = none;
  double slowdown = 1.0;
};

struct Work {
  double fixed_s = 0.0;   // first: compute, latency
  double shared_s = 0.0;  // then: what the transfer takes alone on `link`; those on one link at once share it evenly
  Link link = none;       // none: shared_s is not shared
};

// All additions throw std::invalid_argument for a number out of range, a negative or infinite time, or a task that
// waits for one that is not there yet.
class Graph {
 public:
  Lane add_lane(const LaneOptions& options = {});
  Link add_link();
  // A load is on while any of its tasks runs: the compute of ranks whose threads carry a collective as well.
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
  // The task that was added last runs at 1/slowdown of its speed, latency and transfer alike, while the load is on. One
  // load a task, which it is no part of; none on a lane that is slowed by another. Throws std::invalid_argument
  // otherwise, and for a slowdown below 1.
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
  // Few tasks have to do with a load: apart, so that the others cost nothing.
  std::vector<Carried> carried_;
  std::vector<SlowedBeside> slowed_;
};

struct Times {
  double ready_s = 0.0;  // all that it waits for has ended
  double start_s = 0.0;
  double end_s = 0.0;
};

// When each task starts and ends. Discrete events with piecewise constant rates: exact but for rounding. The same graph
// gives the same bytes. O((tasks + places + waits) log tasks). Throws std::logic_error when tasks wait for each other
// in a circle, naming one of them.
std::vector<Times> simulate(const Graph& graph);

}  // namespace ddpprof::engine
