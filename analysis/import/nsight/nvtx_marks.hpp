// Derives marks of training from a process's NVTX ranges for the traces of its ranks: steps, phases, gradients, the
// batch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/import/nsight/nvtx_names.hpp"
#include "analysis/import/nsight/step_finder.hpp"
#include "analysis/import/trace/rank_trace.hpp"

namespace ddpprof::import {

class NvtxMarks {
 public:
  // `ranks`: the ranks of the process, one per device. Its ranges belong to all of them.
  void add(std::span<RankTrace* const> ranks, std::int64_t tid, std::string_view text, Span time);
  // A range that the recorder marked as a step, with its number.
  void add_step(std::string_view name, std::int64_t number, Span time) { steps_.add_known(name, number, time); }

  // Sets the ranks' steps and batch, which need all ranges. Returns how the steps were found.
  StepFinder::Found set_steps_and_batch(std::span<RankTrace* const> ranks);

 private:
  NvtxMeaning meaning(std::string_view name);

  StepFinder steps_;
  std::vector<std::pair<std::int64_t, std::int64_t>> batches_;  // start and leading dimension of operations
  std::unordered_map<std::string, NvtxMeaning> meanings_;
};

}  // namespace ddpprof::import
