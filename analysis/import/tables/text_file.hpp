// Tells a table of step times from what nccl-tests printed, by a text's first lines.
#pragma once

#include <filesystem>

namespace ddpprof::import {

enum class TextKind {
  step_table,  // comma-separated, its first line names columns
  nccl_log,    // what all_reduce_perf printed, with or without a launcher's tags
  neither,
};

// Looks at the first 64 KiB. What cannot be read is `neither`.
TextKind text_kind(const std::filesystem::path&);

}  // namespace ddpprof::import
