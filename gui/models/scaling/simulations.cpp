#include "gui/models/scaling/simulations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace ddpprof::gui::whatif {
namespace {

constexpr std::size_t first_portion = 4;   // number of N, before the time for one is known
constexpr double portion_s = 4e-3;         // without a deadline: time between two calls of `stop`
constexpr std::size_t most_changes = 128;  // remembered for one machine
constexpr std::size_t most_machines = 64;  // remembered for one file

}  // namespace

std::string change_text(const fit::WhatIf& change) { return fmt::format("{}", fmt::join(change.said, " ")); }

Simulations::Simulations(std::shared_ptr<const OpenedFile> file) : file_(std::move(file)) {}

Simulations::Key Simulations::key_of(const Knobs& knobs) {
  return {knobs.base_strategy(), knobs.gpus_per_node, knobs.inter_node, knobs.dedicated};
}

std::string Simulations::refusal(const Knobs& knobs) const {
  const std::string strategy = knobs.base_strategy();
  const auto& measured = file_->models->measured;
  if ((strategy == "dp" ? measured.dp : measured.ddp).empty())
    return "no step of " + strategy + " was measured: add it to the scenario's strategies and run again";
  return "";
}

Simulations::Machine& Simulations::machine(const Knobs& knobs, std::unique_lock<std::mutex>& lock) {
  if (const std::string why = refusal(knobs); !why.empty()) throw std::invalid_argument(why);
  const Key key = key_of(knobs);
  if (const auto found = machines_.find(key); found != machines_.end()) return found->second;
  // Constructed without the lock, because it takes tens of milliseconds and other threads may read existing entries. If
  // two threads construct the same predictor, both are equal.
  lock.unlock();
  auto made = std::make_shared<const fit::Predictor>(
      fit::make_predictor(file_->models, knobs.base_strategy(), predict_options(*file_, knobs)));
  lock.lock();
  if (machines_.size() >= most_machines) machines_.clear();
  Machine& machine = machines_[key];
  if (!machine.predictor) machine.predictor = std::move(made);
  return machine;
}

std::shared_ptr<const fit::Predictor> Simulations::predictor(const Knobs& knobs) {
  std::unique_lock lock(mutex_);
  return machine(knobs, lock).predictor;
}

std::shared_ptr<const std::vector<MeasuredPoint>> Simulations::measured(const Knobs& knobs) {
  const std::string strategy = knobs.base_strategy();
  std::unique_lock lock(mutex_);
  if (const auto found = measured_.find(strategy); found != measured_.end()) return found->second;
  lock.unlock();  // for the same reason as in machine()
  auto made = std::make_shared<const std::vector<MeasuredPoint>>(measured_points(file_->configurations, strategy));
  lock.lock();
  return measured_.try_emplace(strategy, std::move(made)).first->second;
}

bool Simulations::add(const Knobs& knobs, const fit::WhatIf& change, std::span<const std::int64_t> workers,
                      Clock::time_point deadline, const std::function<bool()>& stop, Estimates& found) {
  const std::string words = change_text(change);
  std::shared_ptr<const fit::Predictor> simulated;
  std::vector<std::int64_t> missing;
  {
    std::unique_lock lock(mutex_);
    Machine& here = machine(knobs, lock);
    simulated = here.predictor;
    const auto known = here.known.find(words);
    for (const std::int64_t n : workers) {
      if (found.contains(n)) continue;
      if (known != here.known.end()) {
        if (const auto at = known->second.find(n); at != known->second.end()) {
          found.insert(*at);
          continue;
        }
      }
      missing.push_back(n);
    }
  }
  const fit::WhatIf alone = for_one_worker(change);
  Estimates fresh;
  std::size_t portion = first_portion;
  for (std::size_t next = 0; next < missing.size();) {
    if (stop()) break;
    const auto begin = Clock::now();
    const double left_s = std::chrono::duration<double>(deadline - begin).count();
    if (!(left_s > 0.0)) break;
    const std::size_t count = std::min(portion, missing.size() - next);
    const std::span<const std::int64_t> some = std::span(missing).subspan(next, count);
    const std::vector<fit::StepEstimate> estimates = fit::step_curve(*simulated, some, change);
    for (std::size_t i = 0; i < count; ++i)
      fresh[some[i]] =
          some[i] == 1 && change.any() ? fit::step_curve(*simulated, some.subspan(i, 1), alone).front() : estimates[i];
    next += count;
    const double took_s = std::chrono::duration<double>(Clock::now() - begin).count();
    const double one_s = std::max(took_s / static_cast<double>(count), 1e-7);
    const double room_s = std::min(left_s - took_s, deadline == Clock::time_point::max() ? portion_s : left_s);
    portion = static_cast<std::size_t>(std::clamp(std::floor(room_s / one_s), 2.0, 4096.0));
  }
  std::unique_lock lock(mutex_);
  Machine& here = machine(knobs, lock);
  if (here.known.size() >= most_changes && !here.known.contains(words)) {
    // Keep the entry without a change, because every snapshot reads it.
    std::erase_if(here.known, [](const auto& one) { return !one.first.empty(); });
  }
  here.known[words].insert(fresh.begin(), fresh.end());
  found.insert(fresh.begin(), fresh.end());
  return std::all_of(workers.begin(), workers.end(), [&](std::int64_t n) { return found.contains(n); });
}

std::optional<std::vector<fit::Knee>> Simulations::knees(const Knobs& knobs, const fit::WhatIf& change,
                                                         std::int64_t asked, Clock::time_point deadline,
                                                         const std::function<bool()>& stop) {
  fit::KneeSearch search;
  std::pair<std::string, std::int64_t> key{change_text(change), 0};
  std::shared_ptr<const fit::Predictor> simulated;
  {
    std::unique_lock lock(mutex_);
    const Machine& here = machine(knobs, lock);
    key.second = search.furthest = fit::knees_up_to(*here.predictor, asked, change);
    if (const auto known = here.knees.find(key); known != here.knees.end()) return known->second;
    simulated = here.predictor;
  }
  search.stop = [&] { return stop() || Clock::now() >= deadline; };
  std::optional<std::vector<fit::Knee>> found = fit::knees(*simulated, change, search);
  if (!found) return found;
  std::unique_lock lock(mutex_);
  auto& known = machine(knobs, lock).knees;
  if (known.size() >= most_changes) std::erase_if(known, [](const auto& one) { return !one.first.first.empty(); });
  known.insert_or_assign(key, *found);
  return found;
}

}  // namespace ddpprof::gui::whatif
