// Checks that the files that a scenario reads exist, before the run.
#pragma once

#include "runner/scenario/data_files.hpp"

namespace ddpprof::scenario {

// Checks the data files, the TorchScript model and the checkpoint to resume from. Throws DataError for the first
// missing file.
void check_input_files(const Scenario& scenario);

}  // namespace ddpprof::scenario
