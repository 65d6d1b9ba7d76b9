// One answer of the scaling page: the curves over N and what is said of the chosen N, for one state of the knobs.
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

// Of the chosen N, as `ddpprof predict` says it.
struct Answer {
  std::string refusal;  // why nothing is predicted at this N
  fit::Prediction prediction;
  std::vector<fit::TermGain> gains;
  std::optional<fit::WhatIfRow> what_if;  // where there is a change that can be
  std::vector<fit::TermGain> changed_gains;
  std::string why_no_change;
};

struct Snapshot {
  Knobs knobs, measured_knobs;
  fit::WhatIf change;
  std::int64_t limit = 64;              // the largest N drawn
  std::vector<MeasuredPoint> measured;  // of the base strategy
  Curve predicted;                      // of the machine asked about, without the change
  std::optional<Curve> changed;         // with it
  std::optional<Curve> own;             // of the machine that was measured, where another is asked about
  std::vector<fit::Knee> predicted_knees, changed_knees;
  bool knees_of_drawn = false;   // of the N drawn alone, as long as the others are not looked at
  std::optional<Answer> answer;  // none as long as it is simulated
  bool complete = false;         // every N and the answer are there
  std::string refusal;           // why nothing can be said of the strategy

  // The curve that the page speaks about: the changed one where there is one.
  const Curve& shown() const { return changed ? *changed : predicted; }
  const std::vector<fit::Knee>& shown_knees() const { return changed ? changed_knees : predicted_knees; }
};

struct Question {
  Knobs knobs, measured_knobs;
  std::int64_t limit = 64;
};

// Simulates until `deadline`: coarsely at first, then finer, the answer last. Throws nothing that the data can cause.
Snapshot answer(Simulations&, const Question&, Simulations::Clock::time_point deadline,
                const std::function<bool()>& stop);

// In words for the chosen N: a heading and a sentence each.
struct Sentence {
  std::string about, text;
  bool warning = false;
};
std::vector<Sentence> sentences(const Snapshot&);

// The value drawn, by what the plot shows.
enum class Quantity { throughput, speedup, efficiency, step };
Figure figure(const CurvePoint&, Quantity);
std::optional<Figure> figure(const MeasuredPoint&, Quantity);

// A figure as the page's words have it: "12.3 ms", "81.4 %", "52.1 ×", "4096 samples/s".
std::string figure_text(double value, Quantity);

}  // namespace ddpprof::gui::whatif
