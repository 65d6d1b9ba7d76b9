// ddpprof predict for a table of step times: a CSV file, or a table that was imported into a database.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/fit/table/step_table.hpp"
#include "analysis/report/report.hpp"

namespace ddpprof::cli {

struct TableRequest {
  std::vector<std::int64_t> workers;
  std::optional<std::int64_t> gpus_per_node;     // nullopt: the largest number in the table
  std::optional<std::int64_t> batch_per_worker;  // nullopt: the most frequent one; ties go to the smallest
  std::optional<std::int64_t> accumulation;      // nullopt: that of the largest N; ties go to the smallest
  double confidence = 0.9;
};

// `rows` must not be empty. Throws Failure: usage if the request is invalid, data if the rows cannot support a
// prediction.
report::Report predict_from_table(const std::vector<fit::StepRow>& rows, const TableRequest& request);

}  // namespace ddpprof::cli
