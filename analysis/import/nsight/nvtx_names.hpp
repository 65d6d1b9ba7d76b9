// What the name of an NVTX range says of training, in the spellings that frameworks and people use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tracer/format/step_name.hpp"

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

using vocabulary::numbered_step;
using vocabulary::NumberedStep;

}  // namespace ddpprof::import
