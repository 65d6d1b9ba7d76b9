// Reads the JSON file that nccl-tests writes with option -J.
#pragma once

#include <string_view>

#include "analysis/fit/nccl_tests/nccl_tests.hpp"

namespace ddpprof::fit {

// Returns true for the beginning of such a file.
bool looks_like_nccl_json(std::string_view begin);

// Returns the run, with its times in the order of the file. Throws NcclTestsError("…; what was expected") without the
// name of the file, if the text is not such a file or is cut.
NcclTestsRun read_nccl_json(std::string_view text);

}  // namespace ddpprof::fit
