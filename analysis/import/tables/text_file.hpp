// Distinguishes a table of step times from the output of nccl-tests by the first lines of a text.
#pragma once

#include <filesystem>

namespace ddpprof::import {

enum class TextKind {
  step_table,  // comma-separated; the first line names columns
  nccl_log,    // output of nccl-tests, with or without a launcher's tags, or its JSON file
  neither,
};

// Reads the first MiB. Returns `neither` if the file cannot be read.
TextKind text_kind(const std::filesystem::path&);

}  // namespace ddpprof::import
