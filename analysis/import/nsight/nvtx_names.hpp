// What the name of an NVTX range says of training, in the spellings that frameworks and people use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ddpprof::import {

// "aten::addmm, seq = 7, op_id = 12, sizes = [[64, 784], …]", as torch.autograd.profiler.emit_nvtx writes it.
struct NvtxName {
  std::string_view name;   // without what differs from call to call
  std::string_view sizes;  // of the inputs; empty: not recorded
};
NvtxName parse_emitted(std::string_view text);

enum class NvtxMeaning {
  none,
  step,  // "train_step", "iteration", without a number
  forward,
  backward,
  backward_op,  // one of autograd's functions
  gradient,     // one was added up
  optimizer,
  data,
};
NvtxMeaning meaning_of(std::string_view name);

// "iteration 5", "step 3", "ProfilerStep#4", "iter7", "train_step: 9", "Iteration-12", "epoch 2, step 40/100".
struct NumberedStep {
  std::string pattern;  // equal for the steps of one loop
  std::int64_t number = 0;
};
std::optional<NumberedStep> numbered_step(std::string_view name);

}  // namespace ddpprof::import
