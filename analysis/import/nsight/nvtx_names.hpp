// Interprets the names of NVTX ranges, in the spellings used by frameworks and users.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tracer/format/step_name.hpp"

namespace ddpprof::import {

// A name as written by torch.autograd.profiler.emit_nvtx: "aten::addmm, seq = 7, op_id = 12, sizes = [[64, 784], …]".
struct NvtxName {
  std::string_view name;   // without the parts that differ between calls
  std::string_view sizes;  // of the inputs; empty: not recorded
};
NvtxName parse_emitted(std::string_view text);

enum class NvtxMeaning {
  none,
  step,  // "train_step", "iteration", without a number
  forward,
  backward,
  backward_op,  // a function of autograd
  gradient,     // a gradient was accumulated
  optimizer,
  data,
};
NvtxMeaning meaning_of(std::string_view name);

using vocabulary::numbered_step;
using vocabulary::NumberedStep;

}  // namespace ddpprof::import
