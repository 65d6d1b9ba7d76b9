// Learning rates of the database or of the scenario.
#pragma once

#include <vector>

#include "analysis/report/tables/source.hpp"
#include "tracer/store/rows/result_rows.hpp"

namespace ddpprof::report {

Table learning_rate_table(const Source&);
Table warmup_table(const Source&);
std::vector<store::LearningRateRow> read_learning_rates(const Source&);  // by rule, N

Table learning_rate_table(std::vector<store::LearningRateRow> rows);
Table warmup_table(std::vector<store::LearningRateRow> rows);  // every quarter of the warm-up

}  // namespace ddpprof::report
