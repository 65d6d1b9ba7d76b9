// Finds the steps of training among a process's NVTX ranges.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/import/nsight/nvtx_names.hpp"
#include "analysis/import/trace/rank_trace.hpp"

namespace ddpprof::import {

// Candidates, in this order: ranges with a step's number; ranges named like a step; a name that repeats, never inside
// itself, and covers most of the time. Among several candidates those that contain a backward or an optimizer's step
// come first, then the one with the longest total time is chosen.
class StepFinder {
 public:
  // Limit of ranges of one candidate name that is neither numbered nor named like a step.
  static constexpr std::size_t most_spans = 1 << 16;
  // Limit of such names.
  static constexpr std::size_t most_names = 4096;

  // A range known to be a step, with its number. If there is one, other ranges are not considered.
  void add_known(std::string_view name, std::int64_t number, Span time) {
    known_.push_back({number, std::string(name), time});
  }

  // Adds a time at which the process trains: the start of a backward's operation or of an optimizer's step.
  void add_training(std::int64_t at_ns);

  // Ranges in any order, of the default domain or a user's domain.
  void add(std::int64_t tid, std::string_view name, NvtxMeaning, Span time);

  struct Found {
    std::vector<StepMark> steps;      // in order; empty: no range looks like a step
    std::string name;                 // their name, "iteration" or "profilerstep"
    bool by_repetition = false;       // found by repetition and coverage, not by name
    std::vector<std::string> others;  // names of further ranges that are named like steps
  };
  // `traced` is the recorded time, of which the steps must cover most.
  Found find(Span traced);

 private:
  struct Candidate {
    std::vector<StepMark> steps;
    std::int64_t total_ns = 0;
  };
  using Candidates = std::map<std::pair<std::int64_t, std::string>, Candidate, std::less<>>;  // by thread and name
  static void extend(Candidates&, std::int64_t tid, std::string name, StepMark&&);
  const Candidates::value_type* widest(const Candidates&, std::size_t least, std::int64_t least_ns) const;
  // Returns true if a step of the candidate contains a time at which the process trains.
  bool trains(const Candidate&) const;
  std::vector<std::string> names_besides(const std::string& chosen) const;

  Candidates numbered_, called_, repeated_;
  std::vector<StepMark> known_;
  static constexpr std::size_t most_moments = 1 << 20;
  std::vector<std::int64_t> training_ns_;
};

}  // namespace ddpprof::import
