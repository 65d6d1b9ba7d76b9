// One answer of the scaling page for one state of the knobs: the curves over N, and the answer at the chosen N.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gui/models/scaling/simulations.hpp"

namespace ddpprof::gui::whatif {

// The prediction at the chosen N, as `ddpprof predict` gives it.
struct Answer {
  std::string refusal;  // why this N cannot be predicted
  fit::Prediction prediction;
  std::vector<fit::TermGain> gains;
  std::optional<fit::WhatIfRow> what_if;  // set if there is a change that can be predicted
  std::vector<fit::TermGain> changed_gains;
  std::string why_no_change;
};

struct Snapshot {
  Knobs knobs, measured_knobs;
  fit::WhatIf change;
  std::int64_t limit = 64;              // the largest N drawn
  std::vector<MeasuredPoint> measured;  // points of the base strategy
  Curve predicted;                      // for the chosen machine, without the change
  std::optional<Curve> changed;         // for the chosen machine, with the change
  std::optional<Curve> own;             // for the machine as measured, if another machine was chosen
  std::vector<fit::Knee> predicted_knees, changed_knees;
  bool knees_of_drawn =
      false;  // true if the knees come from the drawn N only, because the search over all N has not ended
  std::optional<Answer> answer;  // empty while it is being simulated
  bool complete = false;         // true if every N and the answer are simulated
  std::string refusal;           // why the strategy cannot be predicted

  // The curve that the sentences describe: the changed one if there is a change.
  const Curve& shown() const { return changed ? *changed : predicted; }
  const std::vector<fit::Knee>& shown_knees() const { return changed ? changed_knees : predicted_knees; }
};

struct Question {
  Knobs knobs, measured_knobs;
  std::int64_t limit = 64;
};

// Simulates until `deadline`: coarse curves first, then finer ones, then the answer. Bad data in the file causes a
// refusal, not an exception.
Snapshot answer(Simulations&, const Question&, Simulations::Clock::time_point deadline,
                const std::function<bool()>& stop);

// Sentences about the chosen N, each with a heading.
struct Sentence {
  std::string about, text;
  bool warning = false;
};
std::vector<Sentence> sentences(const Snapshot&);

// The quantity on the plot's y axis.
enum class Quantity { throughput, speedup, efficiency, step };
Figure figure(const CurvePoint&, Quantity);
std::optional<Figure> figure(const MeasuredPoint&, Quantity);

// A value as the sentences show it: "12.3 ms", "81.4 %", "52.1 ×", "4096 samples/s".
std::string figure_text(double value, Quantity);

}  // namespace ddpprof::gui::whatif
