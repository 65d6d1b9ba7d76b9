// Names and warnings that the text output and the JSON file of nccl-tests have in common.
#pragma once

#include <string>
#include <string_view>

#include "analysis/fit/nccl_tests/nccl_tests.hpp"

namespace ddpprof::fit {

// Returns "all_reduce" for "/opt/nccl-tests/build/all_reduce_perf_mpi".
std::string collective_of_program(std::string_view program);

// Returns the root of a text as nccl-tests prints it: "-1", "     0". -1 if it is not a number.
std::int64_t root_of_text(std::string_view text);

NcclTestsWarning wrong_values_warning(const std::string& count);

// Sets the run's type and operation, and keeps the rows of this kind alone. DDP sums gradients, so with -o all "sum" is
// kept, otherwise the first operation; with -d all "float", "bfloat16" or "half", otherwise the first type. Adds a
// warning if other rows were left out.
void keep_one_kind(NcclTestsRun&);

// Sets the bandwidth factors of a run from those of its rows.
void set_bus_factors(NcclTestsRun&);

}  // namespace ddpprof::fit
