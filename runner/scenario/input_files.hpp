// Says which of the files that a scenario reads are missing, before anything is run.
#pragma once

#include "runner/scenario/data_files.hpp"

namespace ddpprof::scenario {

// The data's files, a TorchScript model's and the checkpoint to resume. Throws DataError for the first that is missing.
void check_input_files(const Scenario& scenario);

}  // namespace ddpprof::scenario
