// Which knob helps most: each knob is changed alone by a standard amount and compared with the measured state.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/models/scaling/knobs.hpp"

namespace ddpprof::gui::whatif {

struct Lever {
  KnobId knob = KnobId::bandwidth;
  Knobs knobs;        // as measured, except for this knob
  std::string words;  // "link bandwidth × 2"
  std::string needs;  // what the change requires: "faster links", "a larger global batch", …
  std::optional<fit::WhatIfRow> row;
  std::string why_not;  // why `row` is empty
};

// Returns the candidates for the N, strategy and machine of the knobs, everything else as measured. `row` is not set.
std::vector<Lever> candidate_levers(const Knobs&, const Knobs& measured);

using PredictorOf = std::function<std::shared_ptr<const fit::Predictor>(const Knobs&)>;  // returns the predictor for
                                                                                         // the machine of the knobs

// Fills the row, or why_not, of each lever. Sorted by speedup, largest first; levers without a row come last. Stops
// early when `stop` returns true.
std::vector<Lever> evaluate(std::vector<Lever>, const PredictorOf&, const Knobs& measured,
                            const std::function<bool()>& stop);

// Speedups are ratios of throughput, as `ddpprof predict --what-if` prints them.
report::Table levers_table(const std::vector<Lever>&, std::int64_t workers, double confidence);

}  // namespace ddpprof::gui::whatif
