// Published tables of step times as series: one job on one machine type at several numbers of ranks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/fit/table/step_row.hpp"

namespace ddpprof::validation {

struct Series {
  std::string stratum;  // published, ddp_tables, mlperf, pollux, or "pollux, full nodes"
  std::string family;   // the model's architecture
  std::string source;   // the repository of the figures
  std::string name;
  std::vector<fit::StepRow> rows;  // ascending in the number of ranks
};

// scaling/published*.csv, ddp_tables.csv, ddp_mlperf.csv, and of pollux two series a batch: on one rank and on three
// nodes and more, and on full nodes. Series of fewer than three numbers of ranks, and those whose note calls them
// doubtful, are left out.
std::vector<Series> read_series(const std::filesystem::path& data);

// All rows of one Pollux model.
std::vector<fit::StepRow> pollux_rows(const std::filesystem::path& folder);

inline const std::vector<std::string> pollux_models = {"bert", "cifar10", "deepspeech2", "imagenet", "ncf", "yolov3"};

}  // namespace ddpprof::validation
