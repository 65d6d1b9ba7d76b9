#include "simulator/engine/graph.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace ddpprof::engine {
namespace {

void require_time(double value, const char* name) {
  if (!(value >= 0.0) || !std::isfinite(value))
    throw std::invalid_argument("graph: " + std::string(name) + " is " + std::to_string(value) +
                                " s, expected a finite time of 0 or more");
}

void require_number(std::int32_t number, std::size_t count, const char* what) {
  if (number < 0 || static_cast<std::size_t>(number) >= count)
    throw std::invalid_argument("graph: " + std::string(what) + " " + std::to_string(number) + ", expected 0 to " +
                                std::to_string(static_cast<std::int64_t>(count) - 1));
}

std::int32_t next_number(std::size_t count) {
  if (count >= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw std::length_error("graph: more than 2^31 - 1 tasks, lanes or links");
  return static_cast<std::int32_t>(count);
}

}  // namespace

Lane Graph::add_lane(const LaneOptions& options) {
  if (options.capacity < 1)
    throw std::invalid_argument("graph: a lane of capacity " + std::to_string(options.capacity) +
                                ", expected 1 or more");
  if (!(options.slowdown >= 1.0) || !std::isfinite(options.slowdown))
    throw std::invalid_argument("graph: slowdown " + std::to_string(options.slowdown) + ", expected 1 or more");
  if (options.slowed_by != none) {
    require_number(options.slowed_by, lanes_.size(), "slowed_by lane");
    if (options.capacity != 1) throw std::invalid_argument("graph: a lane that is slowed has capacity 1");
  }
  const Lane lane = next_number(lanes_.size());
  lanes_.push_back(options);
  return lane;
}

Link Graph::add_link() { return next_number(links_++); }

Load Graph::add_load() { return next_number(loads_++); }

Task Graph::add_task(const Work& work, std::span<const Lane> lanes, std::span<const Task> after) {
  require_time(work.fixed_s, "fixed_s");
  require_time(work.shared_s, "shared_s");
  if (work.link != none) require_number(work.link, links_, "link");
  const Task task = next_number(work_.size());
  const std::size_t places = places_.size(), waits = waits_.size();
  work_.push_back(work);
  places_end_.push_back(static_cast<std::uint32_t>(places));
  waits_end_.push_back(static_cast<std::uint32_t>(waits));
  try {
    for (const Lane lane : lanes) occupy(lane);
    for (const Task before : after) wait_for(before);
  } catch (...) {  // what is refused leaves nothing behind
    work_.pop_back();
    places_end_.pop_back();
    waits_end_.pop_back();
    places_.resize(places);
    waits_.resize(waits);
    throw;
  }
  return task;
}

void Graph::occupy(Lane lane) {
  require_number(lane, lanes_.size(), "lane");
  if (work_.empty()) throw std::invalid_argument("graph: occupy before any task");
  const Task task = static_cast<Task>(work_.size() - 1);
  if (places_.size() >= std::numeric_limits<std::uint32_t>::max())
    throw std::length_error("graph: more than 2^32 - 1 places");
  const auto held = lanes_of(task);
  const LaneOptions& options = lanes_[static_cast<std::size_t>(lane)];
  const auto alone = [&](const LaneOptions& one) { return one.order == Order::ready || one.slowed_by != none; };
  if (!held.empty() && (alone(options) || alone(lanes_[static_cast<std::size_t>(held.front())])))
    throw std::invalid_argument("graph: a task on a lane that is slowed or served in order of coming is on no other");
  if (options.slowed_by != none && !slowed_.empty() && slowed_.back().task == task)
    throw std::invalid_argument("graph: a task that a load slows is on no lane that is slowed by another");
  // Looking through all of a collective's lanes for each would take the square of the ranks: ranks come in order.
  if (!held.empty() && (held.back() == lane || held.front() == lane))
    throw std::invalid_argument("graph: lane " + std::to_string(lane) + " twice for one task");
  places_.push_back(lane);
  ++places_end_.back();
}

void Graph::wait_for(Task task) {
  require_number(task, work_.empty() ? 0 : work_.size() - 1, "predecessor");
  if (waits_.size() >= std::numeric_limits<std::uint32_t>::max())
    throw std::length_error("graph: more than 2^32 - 1 waits");
  waits_.push_back(task);
  ++waits_end_.back();
}

void Graph::carry(Load load) {
  require_number(load, loads_, "load");
  if (work_.empty()) throw std::invalid_argument("graph: carry before any task");
  const Task task = static_cast<Task>(work_.size() - 1);
  if (!carried_.empty() && carried_.back().task == task)
    throw std::invalid_argument("graph: task " + std::to_string(task) + " is part of a load already");
  if (!slowed_.empty() && slowed_.back().task == task && slowed_.back().load == load)
    throw std::invalid_argument("graph: task " + std::to_string(task) + " is slowed by the load it would be part of");
  carried_.push_back({task, load});
}

void Graph::slow_beside(Load load, double slowdown) {
  require_number(load, loads_, "load");
  if (work_.empty()) throw std::invalid_argument("graph: slow_beside before any task");
  if (!(slowdown >= 1.0) || !std::isfinite(slowdown))
    throw std::invalid_argument("graph: slowdown " + std::to_string(slowdown) + ", expected 1 or more");
  const Task task = static_cast<Task>(work_.size() - 1);
  if (!slowed_.empty() && slowed_.back().task == task)
    throw std::invalid_argument("graph: task " + std::to_string(task) + " is slowed by a load already");
  if (!carried_.empty() && carried_.back().task == task && carried_.back().load == load)
    throw std::invalid_argument("graph: task " + std::to_string(task) + " is part of the load that would slow it");
  const auto held = lanes_of(task);
  if (!held.empty() && lane(held.front()).slowed_by != none)
    throw std::invalid_argument("graph: task " + std::to_string(task) + " is slowed by its lane already");
  slowed_.push_back({task, load, slowdown});
}

void Graph::reserve(std::size_t tasks, std::size_t places, std::size_t waits) {
  work_.reserve(tasks);
  places_end_.reserve(tasks);
  waits_end_.reserve(tasks);
  places_.reserve(places);
  waits_.reserve(waits);
}

}  // namespace ddpprof::engine
