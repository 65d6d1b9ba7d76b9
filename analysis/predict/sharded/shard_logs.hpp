// Logs of nccl-tests for the predictions of a sharded training (FSDP).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/fit/fit_summary.hpp"
#include "analysis/fit/nccl_tests/all_reduce_log.hpp"
#include "analysis/predict/step_model/options.hpp"

namespace ddpprof::fit {

// Adds the warnings about a log to the notes of a prediction.
void add_warnings(const AllReduceLog&, std::vector<Note>&);

// Adds the runs of "all_gather" or "reduce_scatter" in a log to the options, and the log's warnings to the notes.
// Throws NcclTestsError if the log has no such run.
void add_shard_log(const std::filesystem::path&, const std::string& op, PredictOptions&, std::vector<Note>&);

}  // namespace ddpprof::fit
