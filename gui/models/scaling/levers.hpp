// What helps most: the usual changes of the job, ranked as in the table what_helps of `ddpprof predict`, each with the
// knobs that set it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/predict/standard_changes.hpp"
#include "gui/models/scaling/knobs.hpp"

namespace ddpprof::gui::whatif {

struct Lever {
  fit::RankedChange change;
  Knobs knobs;  // as measured on the chosen machine, except for this change; unused for FSDP
};

// Returns the knobs as measured, for the N, base strategy and machine of `knobs`.
Knobs without_changes(const Knobs& knobs, const Knobs& measured);

using PredictorOf = std::function<std::shared_ptr<const fit::Predictor>(const Knobs&)>;  // returns the predictor for
                                                                                         // the machine of the knobs

// Returns the changes that can be predicted from `unchanged`, the largest gain first. Ends early once `stop` returns
// true.
std::vector<Lever> ranked_levers(const Knobs& unchanged, const PredictorOf&, const std::function<bool()>& stop);

// Speedups are ratios of throughput, as `ddpprof predict --what-if` prints them.
report::Table levers_table(const std::vector<Lever>&, std::int64_t workers, double confidence);

}  // namespace ddpprof::gui::whatif
