// Tables about collectives.
#pragma once

#include <vector>

#include "analysis/predict/tables/collective_prediction.hpp"
#include "analysis/report/tables/source.hpp"

namespace ddpprof::report {

Table collectives_table(
    const Source&);  // each gradient bucket's all-reduce, and the other collectives (collectives.cpp)
Table process_groups_table(const Source&);   // communication of each process group (process_groups.cpp)
Table pipeline_stages_table(const Source&);  // compute and waiting of each pipeline stage (pipeline_stages.cpp)
Table comm_table(const Source&);             // bench-comm (comm.cpp)

// Answer of ddpprof predict for a database of nccl-tests' sweeps.
Table collective_predictions_table(const std::vector<fit::CollectivePrediction>&, double confidence);

}  // namespace ddpprof::report
