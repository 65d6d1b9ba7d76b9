#include "analysis/fit/table/step_row.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace ddpprof::fit {

std::map<std::string, std::vector<StepRow>> by_strategy(const std::vector<StepRow>& rows) {
  std::map<std::string, std::vector<StepRow>> tables;
  for (const StepRow& row : rows) tables[row.strategy].push_back(row);
  return tables;
}

void TablePrediction::name_bound() {
  const std::array<std::pair<const char*, double>, 4> parts = {
      {{"compute", compute_s}, {"skew", skew_s}, {"sharing", sharing_s}, {"communication", exposed_s}}};
  bound = std::ranges::max_element(parts, {}, &std::pair<const char*, double>::second)->first;
}

}  // namespace ddpprof::fit
