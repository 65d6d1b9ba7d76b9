// Everything that was simulated for one file: a predictor for each machine asked about, a curve for each change. Slow
// to make the first time, remembered afterwards; for any thread.
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

  // Why nothing can be said of the strategy, which was not measured; empty otherwise.
  std::string refusal(const Knobs&) const;

  // The machine that the knobs ask about; their change plays no part. Throws std::invalid_argument with the refusal.
  std::shared_ptr<const fit::Predictor> predictor(const Knobs&);

  // Adds to `found` the outlook at each of `workers` in their order, in small portions: those known at once, the others
  // until `deadline` or until `stop` says so. Returns whether all are there. At one worker the change is less what one
  // worker has none of.
  bool add(const Knobs&, const fit::WhatIf&, std::span<const std::int64_t> workers, Clock::time_point deadline,
           const std::function<bool()>& stop, Outlooks& found);

  // fit::Predictor::knees, under a change or none, as far as `asked`, the largest N asked about, calls for; none where
  // they are not known at the deadline or when stopped.
  std::optional<std::vector<fit::Knee>> knees(const Knobs&, const fit::WhatIf&, std::int64_t asked,
                                              Clock::time_point deadline, const std::function<bool()>& stop);

  // measured_points of the base strategy: their intervals take longer than a frame, and no knob changes them.
  std::shared_ptr<const std::vector<MeasuredPoint>> measured(const Knobs&);

 private:
  using Key = std::tuple<std::string, std::int64_t, bool>;  // strategy, ranks per host, dedicated
  struct Machine {
    std::shared_ptr<const fit::Predictor> predictor;
    std::map<std::string, Outlooks> known;                                         // by the change's words
    std::map<std::pair<std::string, std::int64_t>, std::vector<fit::Knee>> knees;  // … and how far was looked
  };
  static Key key_of(const Knobs&);
  Machine& machine(const Knobs&, std::unique_lock<std::mutex>&);

  std::shared_ptr<const OpenedFile> file_;
  std::mutex mutex_;
  std::map<Key, Machine> machines_;
  std::map<std::string, std::shared_ptr<const std::vector<MeasuredPoint>>> measured_;  // by base strategy
};

// The words by which a change is known.
std::string words_of(const fit::WhatIf&);

}  // namespace ddpprof::gui::whatif
