#include "analysis/import/nsight/step_finder.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "analysis/import/trace/checked.hpp"
#include "tracer/format/step_name.hpp"

namespace ddpprof::import {
namespace {

// Returns true for ranges around the whole training, or around other work than training.
bool encloses_steps(std::string_view name) {
  std::string letters;
  for (const char c : name) letters += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  for (const std::string_view word : {"epoch", "train", "main", "fit", "valid", "eval", "test", "init", "warm"})
    if (letters.starts_with(word)) return true;
  return std::ranges::any_of(vocabulary::words_of(name), vocabulary::is_word_of_evaluation);
}

bool follow_each_other(std::vector<StepMark>& steps) {
  std::stable_sort(steps.begin(), steps.end(),
                   [](const StepMark& a, const StepMark& b) { return a.time.start_ns < b.time.start_ns; });
  for (std::size_t i = 1; i < steps.size(); ++i)
    if (steps[i].time.start_ns < steps[i - 1].time.end_ns) return false;
  return true;
}

}  // namespace

void StepFinder::extend(Candidates& candidates, std::int64_t tid, std::string name, StepMark&& mark) {
  Candidate& candidate = candidates[{tid, std::move(name)}];
  candidate.total_ns = sum_of(candidate.total_ns, mark.time.end_ns - mark.time.start_ns);
  candidate.steps.push_back(std::move(mark));
}

void StepFinder::add(std::int64_t tid, std::string_view name, NvtxMeaning meaning, Span time) {
  if (meaning != NvtxMeaning::none && meaning != NvtxMeaning::step) return;
  if (std::optional<NumberedStep> step = numbered_step(name)) {
    extend(numbered_, tid, std::move(step->pattern), {step->number, std::string(name), time});
    return;
  }
  if (meaning == NvtxMeaning::step) {
    extend(called_, tid, std::string(name), {0, std::string(name), time});
    return;
  }
  if (name.empty() || name.find("::") != std::string_view::npos || encloses_steps(name)) return;
  const auto found = repeated_.find(std::pair(tid, std::string(name)));
  if (found == repeated_.end()) {
    if (repeated_.size() < most_names) extend(repeated_, tid, std::string(name), {0, {}, time});
    return;
  }
  Candidate& candidate = found->second;
  candidate.total_ns = sum_of(candidate.total_ns, time.end_ns - time.start_ns);
  if (candidate.steps.size() <= most_spans) candidate.steps.push_back({0, {}, time});
}

void StepFinder::add_training(std::int64_t at_ns) {
  if (training_ns_.size() < most_moments) training_ns_.push_back(at_ns);
}

bool StepFinder::trains(const Candidate& candidate) const {
  return std::ranges::any_of(candidate.steps, [&](const StepMark& step) {
    const auto first = std::ranges::lower_bound(training_ns_, step.time.start_ns);
    return first != training_ns_.end() && *first < step.time.end_ns;
  });
}

const StepFinder::Candidates::value_type* StepFinder::widest(const Candidates& candidates, std::size_t least,
                                                             std::int64_t least_ns) const {
  const Candidates::value_type* best = nullptr;
  bool best_trains = false;
  for (const auto& entry : candidates) {
    const Candidate& candidate = entry.second;
    if (candidate.steps.size() < least || candidate.total_ns < least_ns) continue;
    const bool entry_trains = trains(candidate);
    if (best && (best_trains != entry_trains ? best_trains : candidate.total_ns <= best->second.total_ns)) continue;
    best = &entry;
    best_trains = entry_trains;
  }
  return best;
}

std::vector<std::string> StepFinder::names_besides(const std::string& chosen) const {
  std::set<std::string> names;
  for (const Candidates* candidates : {&numbered_, &called_})
    for (const auto& [key, candidate] : *candidates)
      if (key.second != chosen) names.insert(key.second);
  return {names.begin(), names.end()};
}

StepFinder::Found StepFinder::find(Span traced) {
  Found found;
  std::ranges::sort(training_ns_);
  if (!known_.empty()) {
    found.name = known_.front().name;
    found.steps = known_;
    follow_each_other(found.steps);
    // Equal names are extended by the step's number, so that they are distinct.
    for (StepMark& step : found.steps)
      if (step.name == found.name && found.steps.size() > 1) step.name += " " + std::to_string(step.number);
    return found;
  }
  const Candidates::value_type* best = widest(numbered_, 1, 0);
  bool numbers = best != nullptr;
  const Candidates::value_type* called = widest(called_, 2, 0);
  if (called && (!best || (!trains(best->second) && trains(called->second)))) {
    best = called;
    numbers = false;
  }
  if (!best) {
    Candidates fit;
    for (const auto& [key, candidate] : repeated_) {
      if (candidate.steps.size() < 3 || candidate.steps.size() > most_spans) continue;
      Candidate copy = candidate;
      if (follow_each_other(copy.steps)) fit.emplace(key, std::move(copy));
    }
    best = widest(fit, 3, (traced.end_ns - traced.start_ns) / 2);
    if (!best) return found;
    found.by_repetition = true;
    found.name = best->first.second;
    found.steps = best->second.steps;
  } else {
    found.name = best->first.second;
    found.steps = best->second.steps;
    found.others = names_besides(found.name);
    follow_each_other(found.steps);
  }
  // If numbers start again, as in each epoch, two steps would have one number.
  bool ascending = numbers;
  for (std::size_t i = 1; i < found.steps.size(); ++i)
    if (found.steps[i].number <= found.steps[i - 1].number) ascending = false;
  for (std::size_t i = 0; i < found.steps.size(); ++i) {
    if (!ascending) found.steps[i].number = static_cast<std::int64_t>(i);
    if (!numbers) found.steps[i].name = found.name + " " + std::to_string(i);
  }
  return found;
}

}  // namespace ddpprof::import
