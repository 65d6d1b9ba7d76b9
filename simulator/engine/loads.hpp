// The state of a graph's loads while the engine runs: which are on, and the running tasks that each of them slows.
// Internal to the engine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "simulator/engine/lists.hpp"

namespace ddpprof::engine {

class Loads {
 public:
  struct Running {
    Task task;
    double slowdown;
    double left_s = 0.0;  // of its fixed part at full speed, at `seen_s`
    double seen_s = 0.0;
    bool transfers = false;  // its fixed part is over; the link stores the rest
    std::uint32_t version = 0;
  };

  explicit Loads(const Graph& graph) : graph_(graph), states_(graph.loads()) {}

  bool any() const { return !states_.empty(); }
  bool on(Load load) const { return states_[at(load)].carried > 0; }
  // Return the graph's entry for a task, or nullptr.
  const Graph::Carried* carried(Task task) const { return find(graph_.carried(), task); }
  const Graph::SlowedBeside* slowed(Task task) const { return find(graph_.slowed_beside(), task); }

  // A task of the load starts or ends. Returns true if this turns the load on or off.
  bool turned_on(Load load) { return states_[at(load)].carried++ == 0; }
  bool turned_off(Load load) { return --states_[at(load)].carried == 0; }

  double factor(const Graph::SlowedBeside& slowed) const { return on(slowed.load) ? slowed.slowdown : 1.0; }
  std::vector<Running>& running(Load load) { return states_[at(load)].running; }
  Running& start(const Graph::SlowedBeside& slowed, double left_s, double now_s) {
    auto& all = running(slowed.load);
    all.push_back({slowed.task, slowed.slowdown, left_s, now_s, false, next_version()});
    return all.back();
  }
  Running* find_running(const Graph::SlowedBeside& slowed) {
    auto& all = running(slowed.load);
    const auto found = std::ranges::find(all, slowed.task, &Running::task);
    return found == all.end() ? nullptr : &*found;
  }
  void end(const Graph::SlowedBeside& slowed) {
    std::erase_if(running(slowed.load), [&](const Running& one) { return one.task == slowed.task; });
  }
  // Returns a version that no event of another task or of an earlier rate has.
  std::uint32_t next_version() { return ++version_; }

 private:
  struct State {
    std::int64_t carried = 0;  // its tasks that run
    std::vector<Running> running;
  };

  template <class Items>
  static auto find(Items items, Task task) -> decltype(items.data()) {
    const auto found = std::ranges::lower_bound(items, task, {}, [](const auto& one) { return one.task; });
    return found == items.end() || found->task != task ? nullptr : &*found;
  }

  const Graph& graph_;
  std::vector<State> states_;
  std::uint32_t version_ = 0;
};

}  // namespace ddpprof::engine
