#include <algorithm>
#include <deque>
#include <queue>
#include <stdexcept>
#include <string>

#include "simulator/engine/graph.hpp"
#include "simulator/engine/lists.hpp"
#include "simulator/engine/loads.hpp"
#include "simulator/engine/running.hpp"
#include "simulator/engine/shared_link.hpp"

namespace ddpprof::engine {
namespace {

class Engine {
 public:
  explicit Engine(const Graph& graph)
      : graph_(graph),
        successors_(invert(graph.tasks(), graph.tasks(), [&](Task task) { return graph.predecessors(task); })),
        queues_(invert(graph.lanes(), graph.tasks(), [&](Task task) { return graph.lanes_of(task); })),
        pending_(graph.tasks()),
        times_(graph.tasks(), Times{0.0, not_started, 0.0}),
        lanes_(graph.lanes()),
        links_(graph.links()),
        loads_(graph) {
    for (Index lane = 0; lane < lanes_.size(); ++lane) {
      lanes_[lane].free = graph.lane(static_cast<Lane>(lane)).capacity;
      if (graph.lane(static_cast<Lane>(lane)).order == Order::ready) waiting_.resize(lanes_.size());
      if (const Lane by = graph.lane(static_cast<Lane>(lane)).slowed_by; by != none) {
        slows_.resize(lanes_.size());
        slows_[at(by)].push_back(static_cast<Lane>(lane));
        slowed_.resize(lanes_.size());
      }
    }
  }

  std::vector<Times> run() {
    for (Index task = 0; task < pending_.size(); ++task) {
      const auto number = static_cast<Task>(task);
      waits_left(number) = static_cast<std::uint32_t>(graph_.predecessors(number).size());
      pending_[task].turns = static_cast<std::uint32_t>(graph_.lanes_of(number).size());
    }
    for (Index lane = 0; lane < lanes_.size(); ++lane) give_turns(static_cast<Lane>(lane));
    for (Index task = 0; task < pending_.size(); ++task)
      if (waits_left(static_cast<Task>(task)) == 0) become_ready(static_cast<Task>(task));
    settle();
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      if (event.what == What::fixed_done) {
        if (!is_current(event)) continue;
        now_s_ = event.time_s;
        fixed_done(event.number);
      } else {
        if (event.version != links_[at(event.number)].version) continue;
        now_s_ = event.time_s;
        link_turn(event.number);
      }
      settle();
    }
    if (ended_ != graph_.tasks()) refuse_circle();
    return std::move(times_);
  }

 private:
  std::uint32_t& waits_left(Task task) { return pending_[at(task)].waits; }
  const LaneOptions& options(Lane lane) const { return graph_.lane(lane); }

  // The lane that slows this task, or none.
  Lane slowed_lane(Task task) const {
    if (slowed_.empty()) return none;
    const auto lanes = graph_.lanes_of(task);
    return !lanes.empty() && options(lanes.front()).slowed_by != none ? lanes.front() : none;
  }
  const Graph::SlowedBeside* slowed_beside(Task task) const { return loads_.any() ? loads_.slowed(task) : nullptr; }
  bool is_current(const Event& fixed_done) {
    if (const auto* beside = slowed_beside(fixed_done.number)) {
      const Loads::Running* running = loads_.find_running(*beside);
      return running != nullptr && !running->transfers && running->version == fixed_done.version;
    }
    const Lane lane = slowed_lane(fixed_done.number);
    return fixed_done.version == (lane == none ? 0 : slowed_[at(lane)].version);
  }

  // Gives the free places of a lane to the next tasks in its order.
  void give_turns(Lane lane) {
    LaneState& state = lanes_[at(lane)];
    if (options(lane).order == Order::ready) {
      auto& waiting = waiting_[at(lane)];
      while (state.free > 0 && !waiting.empty()) {
        const Task task = waiting.front();
        waiting.pop();
        --state.free;
        pending_[at(task)].turns = 0;
        startable_.push_back(task);
      }
      return;
    }
    const auto queue = queues_.of(at(lane));
    // One at a time: the next one's turn comes when this one has started, so that all start in order.
    while (state.free > 0 && !state.held && state.next < queue.size()) {
      const Task task = queue[state.next++];
      --state.free;
      state.held = true;
      Pending& pending = pending_[at(task)];
      if (--pending.turns == 0 && pending.waits == 0 && is_ready_[at(task)]) startable_.push_back(task);
    }
  }

  void become_ready(Task task) {
    times_[at(task)].ready_s = now_s_;
    is_ready_[at(task)] = true;
    const auto lanes = graph_.lanes_of(task);
    if (!lanes.empty() && options(lanes.front()).order == Order::ready) {
      waiting_[at(lanes.front())].push(task);
      give_turns(lanes.front());
    } else if (pending_[at(task)].turns == 0) {
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
    for (const Lane lane : graph_.lanes_of(task)) {
      LaneState& state = lanes_[at(lane)];
      if (state.running++ == 0 && !slows_.empty()) set_rates(lane);
      state.held = false;
      if (options(lane).capacity > 1) give_turns(lane);
    }
    if (loads_.any())
      if (const auto* carried = loads_.carried(task); carried && loads_.turned_on(carried->load))
        set_paces(carried->load);
    const Work& work = graph_.work(task);
    const double fixed_s = work.link == none ? work.fixed_s + work.shared_s : work.fixed_s;
    if (!(fixed_s > 0.0)) {
      fixed_done(task);
      return;
    }
    if (const auto* beside = slowed_beside(task)) {
      const Loads::Running& running = loads_.start(*beside, fixed_s, now_s_);
      events_.push({now_s_ + fixed_s * loads_.factor(*beside), task, running.version, What::fixed_done});
      return;
    }
    const Lane lane = slowed_lane(task);
    if (lane == none) {
      events_.push({now_s_ + fixed_s, task, 0, What::fixed_done});
      return;
    }
    lanes_[at(lane)].current = task;
    Slowed& slowed = slowed_[at(lane)];
    slowed.left_s = fixed_s;
    slowed.seen_s = now_s_;
    slowed.rate = rate_on(lane);
    events_.push({now_s_ + slowed.left_s / slowed.rate, task, ++slowed.version, What::fixed_done});
  }

  double rate_on(Lane lane) const {
    return lanes_[at(options(lane).slowed_by)].running > 0 ? 1.0 / options(lane).slowdown : 1.0;
  }

  // Lane `by` has become busy or idle: what it slows goes on at another rate.
  void set_rates(Lane by) {
    for (const Lane lane : slows_[at(by)]) {
      const Task task = lanes_[at(lane)].current;
      if (task == none) continue;
      Slowed& slowed = slowed_[at(lane)];
      slowed.left_s = std::max(0.0, slowed.left_s - (now_s_ - slowed.seen_s) * slowed.rate);
      slowed.seen_s = now_s_;
      slowed.rate = rate_on(lane);
      events_.push({now_s_ + slowed.left_s / slowed.rate, task, ++slowed.version, What::fixed_done});
    }
  }

  // A load has been turned on or off: what it slows goes on at another rate.
  void set_paces(Load load) {
    const bool on = loads_.on(load);
    for (Loads::Running& one : loads_.running(load)) {
      const double factor = on ? one.slowdown : 1.0, before = on ? 1.0 : one.slowdown;
      if (one.transfers) {
        const Link link = graph_.work(one.task).link;
        links_[at(link)].stretch(now_s_, one.task, factor / before);
        plan_turn(link);
        continue;
      }
      one.left_s = std::max(0.0, one.left_s - (now_s_ - one.seen_s) / before);
      one.seen_s = now_s_;
      one.version = loads_.next_version();
      events_.push({now_s_ + one.left_s * factor, one.task, one.version, What::fixed_done});
    }
  }

  void fixed_done(Task task) {
    if (const Lane lane = slowed_lane(task); lane != none) lanes_[at(lane)].current = none;
    const Work& work = graph_.work(task);
    if (work.link == none || !(work.shared_s > 0.0)) {
      ending_.push_back(task);
    } else {
      double shared_s = work.shared_s;
      if (const auto* beside = slowed_beside(task)) {
        Loads::Running* running = loads_.find_running(*beside);
        (running ? *running : loads_.start(*beside, 0.0, now_s_)).transfers = true;
        shared_s *= loads_.factor(*beside);
      }
      links_[at(work.link)].join(now_s_, shared_s, task);
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
    ++ended_;
    if (loads_.any()) {
      if (const auto* beside = loads_.slowed(task)) loads_.end(*beside);
      if (const auto* carried = loads_.carried(task); carried && loads_.turned_off(carried->load))
        set_paces(carried->load);
    }
    for (const Lane lane : graph_.lanes_of(task)) {
      LaneState& state = lanes_[at(lane)];
      ++state.free;
      if (--state.running == 0 && !slows_.empty()) set_rates(lane);
    }
    for (const Task next : successors_.of(at(task)))
      if (--waits_left(next) == 0) become_ready(next);
    for (const Lane lane : graph_.lanes_of(task)) give_turns(lane);
  }

  [[noreturn]] void refuse_circle() const {
    for (Index task = 0; task < pending_.size(); ++task) {
      if (times_[task].start_s >= 0.0) continue;
      throw std::logic_error("graph: task " + std::to_string(task) + " never starts (" +
                             std::to_string(pending_[task].waits) + " of what it waits for never end, its turn never " +
                             "comes on " + std::to_string(pending_[task].turns) +
                             " lanes): lanes and waits form a circle");
    }
    throw std::logic_error("graph: a task never ends");
  }

  const Graph& graph_;
  Lists successors_, queues_;
  std::vector<Pending> pending_;
  std::vector<Times> times_;
  std::vector<LaneState> lanes_;
  std::vector<SharedLink> links_;
  Loads loads_;
  std::vector<std::queue<Task>> waiting_;  // of lanes that serve in order of coming
  std::vector<std::vector<Lane>> slows_;   // by lane: whom it slows
  std::vector<Slowed> slowed_;             // by lane
  std::vector<bool> is_ready_ = std::vector<bool>(graph_.tasks());
  std::deque<Task> startable_;
  std::deque<Task> ending_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  double now_s_ = 0.0;
  Index ended_ = 0;
};

}  // namespace

std::vector<Times> simulate(const Graph& graph) { return Engine(graph).run(); }

}  // namespace ddpprof::engine
