// What a process's NVTX ranges say of training, given to the traces of its ranks: steps, phases, gradients, the batch.
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
  // `ranks`: what a process drives, a device each; its ranges are every one's.
  void add(std::span<RankTrace* const> ranks, std::int64_t tid, std::string_view text, Span time);
  // A range of which whoever recorded it says that it is a step, and which one.
  void add_step(std::string_view name, std::int64_t number, Span time) { steps_.add_known(name, number, time); }

  // Sets the ranks' steps and batch, which only all ranges together tell. Returns how the steps were found.
  StepFinder::Found conclude(std::span<RankTrace* const> ranks) const;

 private:
  NvtxMeaning meaning(std::string_view name);

  StepFinder steps_;
  std::vector<std::pair<std::int64_t, std::int64_t>> batches_;  // start and leading extent of operations
  std::unordered_map<std::string, NvtxMeaning> meanings_;
};

}  // namespace ddpprof::import
