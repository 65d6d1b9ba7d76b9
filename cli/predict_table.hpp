// ddpprof predict on a table of step times: a CSV file, or one that was imported into a database.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/fit/table/step_table.hpp"
#include "analysis/report/report.hpp"

namespace ddpprof::cli {

struct TableRequest {
  std::vector<std::int64_t> workers;
  std::optional<std::int64_t> gpus_per_node;     // none: as many as the table's fullest node has
  std::optional<std::int64_t> batch_per_worker;  // none: the one that most rows have, of equals the smallest
  std::optional<std::int64_t> accumulation;      // none: the largest N's, of several the smallest
  double confidence = 0.9;
};

// `rows` hold one at least. Throws Failure: usage for a request that cannot be, data where they cannot carry the
// answer.
report::Report predict_from_table(const std::vector<fit::StepRow>& rows, const TableRequest& request);

}  // namespace ddpprof::cli
