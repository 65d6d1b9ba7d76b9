// Which knob helps most: each one alone, turned by a standard amount, against what was measured.
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
  Knobs knobs;        // as measured but for this one
  std::string words;  // "link bandwidth × 2"
  std::string needs;  // what it asks for: "faster links", "a larger global batch", …
  std::optional<fit::WhatIfRow> row;
  std::string why_not;  // without a row
};

// The candidates at the N, strategy and machine of the knobs, everything else as measured; no row yet.
std::vector<Lever> candidate_levers(const Knobs&, const Knobs& measured);

using PredictorOf =
    std::function<std::shared_ptr<const fit::Predictor>(const Knobs&)>;  // of the machine they ask about

// Each with its row or why there is none, by speedup, the largest first; those without one last. Stops early when told.
std::vector<Lever> weigh(std::vector<Lever>, const PredictorOf&, const Knobs& measured,
                         const std::function<bool()>& stop);

// These knobs with that one turned to what the lever says.
Knobs turned(Knobs, const Lever&);

// Named levers; speedup of the throughput as `ddpprof predict --what-if` has it.
report::Table levers_table(const std::vector<Lever>&, std::int64_t workers, double confidence);

}  // namespace ddpprof::gui::whatif
