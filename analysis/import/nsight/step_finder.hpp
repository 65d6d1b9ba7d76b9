// Which of a process's NVTX ranges are the steps of training.
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

// In this order: ranges that carry a step's number; else ranges called a step; else a name that comes again and again,
// never inside of itself, and covers most of the time. Of several candidates the one that covers most.
class StepFinder {
 public:
  // A name without a number that says nothing of steps is a candidate only so often …
  static constexpr std::size_t most_spans = 1 << 16;
  // … and only so many names are.
  static constexpr std::size_t most_names = 4096;

  // A range that is known to be a step, and which: then nothing else is.
  void add_known(std::string_view name, std::int64_t number, Span time) {
    known_.push_back({number, std::string(name), time});
  }

  // Ranges in any order, of the default domain or a user's.
  void add(std::int64_t tid, std::string_view name, NvtxMeaning, Span time);

  struct Found {
    std::vector<StepMark> steps;  // in order; none: nothing looks like a step
    std::string name;             // what they are called, "iteration" or "profilerstep"
    bool by_repetition = false;   // their name says nothing: it was the covering
  };
  // `traced`: what "most of the time" is of.
  Found find(Span traced) const;

 private:
  struct Candidate {
    std::vector<StepMark> steps;
    std::int64_t total_ns = 0;
  };
  using Candidates = std::map<std::pair<std::int64_t, std::string>, Candidate, std::less<>>;  // by thread and name
  static void extend(Candidates&, std::int64_t tid, std::string name, StepMark&&);
  static const Candidates::value_type* widest(const Candidates&, std::size_t least, std::int64_t least_ns);

  Candidates numbered_, called_, repeated_;
  std::vector<StepMark> known_;
};

}  // namespace ddpprof::import
