// A cache of everything simulated for one file: a predictor for each machine, a curve for each change. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gui/models/scaling/curve.hpp"
#include "gui/models/scaling/knobs.hpp"

namespace ddpprof::gui::whatif {

class Simulations {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Simulations(std::shared_ptr<const OpenedFile> file);  // a file with models

  // Returns why the strategy cannot be predicted (it was not measured); "" if it can.
  std::string refusal(const Knobs&) const;

  // Returns the predictor for the machine of the knobs; what-if knobs are ignored. Throws std::invalid_argument with
  // the text of refusal().
  std::shared_ptr<const fit::Predictor> predictor(const Knobs&);

  // Adds to `found` the estimate at each of `workers`, in their order: first the known ones, then the others in small
  // portions until `deadline` or until `stop` returns true. Returns true if all were added. At N = 1 the change is
  // for_one_worker(change).
  bool add(const Knobs&, const fit::WhatIf&, std::span<const std::int64_t> workers, Clock::time_point deadline,
           const std::function<bool()>& stop, Estimates& found);

  // Returns fit::knees with or without a change. `asked` is the largest N of the question; it sets how far
  // knees are searched. Returns nothing if `deadline` passed or `stop` returned true before the end.
  std::optional<std::vector<fit::Knee>> knees(const Knobs&, const fit::WhatIf&, std::int64_t asked,
                                              Clock::time_point deadline, const std::function<bool()>& stop);

  // Returns measured_points of the base strategy. They are cached because their intervals take longer than a frame and
  // no knob changes them.
  std::shared_ptr<const std::vector<MeasuredPoint>> measured(const Knobs&);

 private:
  // strategy, ranks per host, link between nodes, dedicated
  using Key = std::tuple<std::string, std::int64_t, std::string, bool>;
  struct Machine {
    std::shared_ptr<const fit::Predictor> predictor;
    std::map<std::string, Estimates> known;                                        // by the change's text
    std::map<std::pair<std::string, std::int64_t>, std::vector<fit::Knee>> knees;  // … and the furthest N
  };
  static Key key_of(const Knobs&);
  Machine& machine(const Knobs&, std::unique_lock<std::mutex>&);

  std::shared_ptr<const OpenedFile> file_;
  std::mutex mutex_;
  std::map<Key, Machine> machines_;
  std::map<std::string, std::shared_ptr<const std::vector<MeasuredPoint>>> measured_;  // by base strategy
};

// Returns the text of a change. It is the key in the cache.
std::string change_text(const fit::WhatIf&);

}  // namespace ddpprof::gui::whatif
