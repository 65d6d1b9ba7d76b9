// The sentences of the scaling page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analysis/report/tables/models/what_if_tables.hpp"
#include "gui/models/scaling/snapshot.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::gui::whatif {
namespace {

std::string seconds(double value) { return units::format_quantity(value, "s", 4); }

// Text to append to a step time. Empty if the samples of a step are unknown (imports without a batch).
std::string and_throughput(double value) {
  return value > 0.0 ? ", " + units::format_quantity(value, "samples/s", 4) : "";
}
std::string times(double value) { return units::format_significant(value, 3) + " ×"; }
std::string interval_name(double confidence) { return fmt::format("{:.3g} % interval", 100.0 * confidence); }

double largest(const std::vector<fit::TermGain>& gains) {
  double most = 0.0;
  for (const fit::TermGain& gain : gains) most = std::max(most, gain.share);
  return most;
}

std::string bound_sentence(const std::string& bound, const std::vector<fit::TermGain>& gains) {
  const std::string remedies =
      bound == fit::to_string(fit::Term::host) ? fmt::format(" Usual remedies: {}.", fit::host_remedies) : "";
  return fmt::format("{} ({}). Without it, the step would be {} shorter.{}", bound, report::term_meaning(bound),
                     units::percent_fixed(largest(gains)), remedies);
}

std::string others_sentence(std::vector<fit::TermGain> gains) {
  std::stable_sort(gains.begin(), gains.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
  std::vector<std::string> texts;
  for (std::size_t i = 1; i < gains.size(); ++i)
    if (gains[i].share >= 5e-4)
      texts.push_back(fmt::format("{} {}", fit::to_string(gains[i].term), units::percent_fixed(gains[i].share)));
  if (texts.empty()) return "";
  return fmt::format(" Without one of the other terms, the step would be shorter by: {}.", fmt::join(texts, ", "));
}

std::string knee_sentence(const std::vector<fit::Knee>& knees, bool copies) {
  if (knees.empty()) return "";
  const char* take = copies ? "copies take" : "exposed communication (including waiting) takes";
  const fit::Knee* last = nullptr;  // the largest share that is exceeded at some N
  for (const fit::Knee& knee : knees)
    if (knee.workers) last = &knee;
  if (last == nullptr)
    return fmt::format("Not communication-bound up to N = {}: {} at most {:.0f} % of the step.", knees.front().furthest,
                       take, 100.0 * knees.front().share);
  if (last == &knees.back())
    return fmt::format("Communication-bound first at N = {}: {} more than {:.0f} % of the step.", *last->workers, take,
                       100.0 * last->share);
  return fmt::format("First at N = {}, {} more than {:.0f} % of the step. Up to N = {}, never more than {:.0f} %.",
                     *last->workers, take, 100.0 * last->share, knees.back().furthest, 100.0 * knees.back().share);
}

const MeasuredPoint* measured_at(const Snapshot& shot, std::int64_t workers) {
  const auto found = std::find_if(shot.measured.begin(), shot.measured.end(),
                                  [&](const MeasuredPoint& point) { return point.workers == workers; });
  return found == shot.measured.end() ? nullptr : &*found;
}

}  // namespace

std::string figure_text(double value, Quantity quantity) {
  switch (quantity) {
    case Quantity::throughput:
      return units::format_quantity(value, "samples/s", 4);
    case Quantity::speedup:
      return times(value);
    case Quantity::efficiency:
      return units::percent_fixed(value);
    case Quantity::step:
      break;
  }
  return seconds(value);
}

std::vector<Sentence> sentences(const Snapshot& shot) {
  std::vector<Sentence> all;
  const auto add = [&](const std::string& about, std::string text, bool warning = false) {
    if (!text.empty()) all.push_back({about, std::move(text), warning});
  };
  // With a change, the headings of the sentences about the unchanged machine end with "now".
  const auto now = [&](const char* about) { return shot.change.any() ? std::string(about) + " now" : about; };
  if (!shot.refusal.empty()) {
    add("Not predicted", shot.refusal, true);
    return all;
  }
  if (!shot.answer) return all;
  const Answer& answer = *shot.answer;
  if (!answer.refusal.empty()) {
    add("Not predicted", answer.refusal, true);
    return all;
  }
  const fit::Prediction& row = answer.prediction;
  const std::int64_t n = row.world_size;
  const bool copies = row.strategy == "dp";
  for (const std::string& links : {fit::unmeasured_links(row), fit::unmeasured_inside_links(row)})
    if (!links.empty()) add("Warning", links + ".", true);
  const bool far = row.extrapolation > far_beyond;
  if (far)
    add("Warning",
        fmt::format("N = {} is {} the largest measured N ({:.0f}), so the prediction is less certain.", n,
                    times(row.extrapolation), static_cast<double>(n) / row.extrapolation),
        true);
  if (fit::is_wide(row))
    add("Warning",
        fmt::format("The interval is {} to {}: the prediction gives only an order of magnitude.",
                    seconds(row.step_low_s), seconds(row.step_high_s)),
        true);
  if (shot.change.any()) {
    const std::string what = change_text(shot.change);
    if (answer.what_if) {
      const fit::WhatIfRow& change = *answer.what_if;
      add("What if",
          fmt::format("{}: step {} ({} to {}){}.", what, seconds(change.changed_step_s), seconds(change.changed_low_s),
                      seconds(change.changed_high_s), and_throughput(change.changed_throughput)));
      add("What-if gain",
          fmt::format("{} the throughput ({} {} to {}).", times(change.speedup), interval_name(row.confidence),
                      times(change.speedup_low), times(change.speedup_high)));
      if (const CurvePoint* point = shot.changed ? shot.changed->at(n) : nullptr)
        add("What-if efficiency",
            fmt::format("{} of {} times the throughput of one unchanged worker, which equals {} such workers.",
                        units::percent_fixed(point->efficiency.value), n,
                        units::format_significant(point->speedup.value, 3)));
      add("What-if binding term", bound_sentence(change.changed_bound, answer.changed_gains));
      add("What-if knee", knee_sentence(shot.changed_knees, copies));
    } else {
      add("What if", fmt::format("{}: {}.", what, answer.why_no_change), true);
    }
  }
  add(now("Step"), fmt::format("{} ({} {} to {}).", seconds(row.step_s), interval_name(row.confidence),
                               seconds(row.step_low_s), seconds(row.step_high_s)));
  if (row.throughput > 0.0)
    add(now("Throughput"), units::format_quantity(row.throughput, "samples/s", 4) + ".");
  else
    add(now("Throughput"), "unknown: the samples of a step were not recorded.");
  add(now("Efficiency"), n == 1 ? units::percent_fixed(row.efficiency) + ": one worker is the reference."
                                : fmt::format("{} of {} times the throughput of one worker, which equals {} workers.",
                                              units::percent_fixed(row.efficiency), n,
                                              units::format_significant(row.efficiency * static_cast<double>(n), 3)));
  add(now("Binding term"), bound_sentence(row.bound, answer.gains) + others_sentence(answer.gains));
  add(now("Knee"), knee_sentence(shot.predicted_knees, copies));
  if (const MeasuredPoint* point = measured_at(shot, n))
    add("Measured",
        fmt::format("{} (95 % interval {} to {}){}.", seconds(point->step_s.mid), seconds(point->step_s.low),
                    seconds(point->step_s.high), and_throughput(point->throughput)));
  add("Note", row.note.empty() ? "" : row.note + ".");
  return all;
}

}  // namespace ddpprof::gui::whatif
