#include <deque>
#include <queue>
#include <span>

#include "simulator/engine/graph.hpp"
#include "simulator/engine/lists.hpp"
#include "simulator/engine/running.hpp"
#include "simulator/engine/shared_link.hpp"

namespace ddpprof::engine {
namespace {

class Engine {
 public:
  explicit Engine(const Graph& graph)
      : graph_(graph),
        successors_(invert(graph.tasks(), graph.tasks(), [&](Task task) { return graph.predecessors(task); })),
        queues_(invert(graph.lanes(), graph.tasks(),
                       [&](Task task) {
                         const Lane& lane = graph.lane_of(task);
                         return std::span(&lane, lane == none ? 0U : 1U);
                       })),
        pending_(graph.tasks()),
        times_(graph.tasks()),
        lanes_(graph.lanes()),
        links_(graph.links()) {
    for (Index lane = 0; lane < lanes_.size(); ++lane)
      if (graph.order(static_cast<Lane>(lane)) == Order::ready) waiting_.resize(lanes_.size());
  }

  std::vector<Times> run() {
    for (Index task = 0; task < pending_.size(); ++task) {
      const auto number = static_cast<Task>(task);
      waits_left(number) = static_cast<std::uint32_t>(graph_.predecessors(number).size());
      pending_[task].has_turn = graph_.lane_of(number) == none;
    }
    for (Index lane = 0; lane < lanes_.size(); ++lane) give_turn(static_cast<Lane>(lane));
    for (Index task = 0; task < pending_.size(); ++task)
      if (waits_left(static_cast<Task>(task)) == 0) become_ready(static_cast<Task>(task));
    settle();
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      if (event.what == What::fixed_done) {
        now_s_ = event.time_s;
        fixed_done(event.number);
      } else {
        if (event.version != links_[at(event.number)].version) continue;
        now_s_ = event.time_s;
        link_turn(event.number);
      }
      settle();
    }
    return std::move(times_);
  }

 private:
  std::uint32_t& waits_left(Task task) { return pending_[at(task)].waits; }

  // Gives a free lane to the next task in its order.
  void give_turn(Lane lane) {
    LaneState& state = lanes_[at(lane)];
    if (!state.free) return;
    if (graph_.order(lane) == Order::ready) {
      auto& waiting = waiting_[at(lane)];
      if (waiting.empty()) return;
      const Task task = waiting.front();
      waiting.pop();
      state.free = false;
      pending_[at(task)].has_turn = true;
      startable_.push_back(task);
      return;
    }
    const auto queue = queues_.of(at(lane));
    if (state.next == queue.size()) return;
    const Task task = queue[state.next++];
    state.free = false;
    pending_[at(task)].has_turn = true;
    if (is_ready_[at(task)]) startable_.push_back(task);
  }

  void become_ready(Task task) {
    is_ready_[at(task)] = true;
    const Lane lane = graph_.lane_of(task);
    if (lane != none && graph_.order(lane) == Order::ready) {
      waiting_[at(lane)].push(task);
      give_turn(lane);
    } else if (pending_[at(task)].has_turn) {
      startable_.push_back(task);
    }
  }

  // Starts what can start, and ends at once what takes no time, until nothing is left to do at this moment. A list
  // instead of a recursion: a chain of tasks without time may be long.
  void settle() {
    while (!startable_.empty() || !ending_.empty()) {
      if (!ending_.empty()) {
        const Task task = ending_.front();
        ending_.pop_front();
        end(task);
      } else {
        const Task task = startable_.front();
        startable_.pop_front();
        start(task);
      }
    }
  }

  void start(Task task) {
    times_[at(task)].start_s = now_s_;
    const Work& work = graph_.work(task);
    const double fixed_s = work.link == none ? work.fixed_s + work.shared_s : work.fixed_s;
    if (fixed_s > 0.0)
      events_.push({now_s_ + fixed_s, task, 0, What::fixed_done});
    else
      fixed_done(task);
  }

  void fixed_done(Task task) {
    const Work& work = graph_.work(task);
    if (work.link == none || !(work.shared_s > 0.0)) {
      ending_.push_back(task);
    } else {
      links_[at(work.link)].join(now_s_, work.shared_s, task);
      plan_turn(work.link);
    }
  }

  void plan_turn(Link number) {
    SharedLink& link = links_[at(number)];
    ++link.version;
    if (!link.idle()) events_.push({now_s_ + link.left_s(), number, link.version, What::link_turn});
  }

  void link_turn(Link number) {
    links_[at(number)].finish(now_s_, [this](Task task) { ending_.push_back(task); });
    plan_turn(number);
  }

  void end(Task task) {
    times_[at(task)].end_s = now_s_;
    const Lane lane = graph_.lane_of(task);
    if (lane != none) lanes_[at(lane)].free = true;
    for (const Task next : successors_.of(at(task)))
      if (--waits_left(next) == 0) become_ready(next);
    if (lane != none) give_turn(lane);
  }

  const Graph& graph_;
  Lists successors_, queues_;
  std::vector<Pending> pending_;
  std::vector<Times> times_;
  std::vector<LaneState> lanes_;
  std::vector<SharedLink> links_;
  std::vector<std::queue<Task>> waiting_;  // of lanes that serve in order of coming
  std::vector<bool> is_ready_ = std::vector<bool>(graph_.tasks());
  std::deque<Task> startable_;
  std::deque<Task> ending_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  double now_s_ = 0.0;
};

}  // namespace

std::vector<Times> simulate(const Graph& graph) { return Engine(graph).run(); }

}  // namespace ddpprof::engine
