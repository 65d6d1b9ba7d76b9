// One row of the table of predictions.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/predict/gains.hpp"
#include "tracer/store/rows/result_rows.hpp"

namespace ddpprof::fit {

class Predictor;

using Prediction = store::PredictionRow;

// Returns the prediction at N without a change. `why`: gains(predictor, workers). Throws std::invalid_argument with the
// refusal.
Prediction predict(const Predictor&, std::int64_t workers, const std::vector<TermGain>& why);

// A row's note begins with this if its interval covers links between nodes that were not measured.
inline constexpr std::string_view links_not_measured = "links between nodes were not measured";
// … links inside a node, when all-reduces were measured between nodes only.
inline constexpr std::string_view inside_links_not_measured = "links inside a node were not measured";
// Returns that part of the row's note, "links between nodes were not measured: the interval spans …"; empty if the row
// has none.
std::string unmeasured_links(const Prediction&);
// The same of links inside a node.
std::string unmeasured_inside_links(const Prediction&);

// Returns the strategies whose predictions have the same samples of a step at every N, as of a table of step times that
// keeps its global batch. Their efficiency is the strong efficiency, that of the others the weak one.
std::set<std::string> strong_strategies(const std::vector<Prediction>&);

// Returns true if the interval spans more than a factor of ten.
bool is_wide(const Prediction&);

}  // namespace ddpprof::fit
