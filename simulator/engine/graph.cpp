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

Lane Graph::add_lane(Order order) {
  const Lane lane = next_number(orders_.size());
  orders_.push_back(order);
  return lane;
}

Link Graph::add_link() { return next_number(links_++); }

Task Graph::add_task(const Work& work, std::optional<Lane> lane, std::span<const Task> after) {
  require_time(work.fixed_s, "fixed_s");
  require_time(work.shared_s, "shared_s");
  if (work.link != none) require_number(work.link, links_, "link");
  if (lane) require_number(*lane, orders_.size(), "lane");
  const Task task = next_number(work_.size());
  for (const Task before : after) require_number(before, work_.size(), "predecessor");
  work_.push_back(work);
  lane_of_.push_back(lane.value_or(none));
  waits_end_.push_back(static_cast<std::uint32_t>(waits_.size()));
  for (const Task before : after) wait_for(before);
  return task;
}

void Graph::wait_for(Task task) {
  require_number(task, work_.empty() ? 0 : work_.size() - 1, "predecessor");
  if (waits_.size() >= std::numeric_limits<std::uint32_t>::max())
    throw std::length_error("graph: more than 2^32 - 1 waits");
  waits_.push_back(task);
  ++waits_end_.back();
}

}  // namespace ddpprof::engine
