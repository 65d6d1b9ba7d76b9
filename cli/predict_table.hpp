// ddpprof predict on a table of step times instead of a trace database.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/report.hpp"

namespace ddpprof::cli {

struct TableQuestion {
  std::vector<std::int64_t> workers;
  std::optional<std::int64_t> gpus_per_node;     // none: as many as the table's fullest node has
  std::optional<std::int64_t> batch_per_worker;  // none: the one that most rows have, of equals the smallest
  std::optional<std::int64_t> accumulation;      // none: the largest N's, of several the smallest
  double confidence = 0.9;
};

// Throws Failure: usage for a table that cannot be read, data where it cannot carry the answer.
report::Report predict_from_table(const std::string& path, const TableQuestion& question);

}  // namespace ddpprof::cli
