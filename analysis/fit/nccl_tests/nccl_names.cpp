#include "analysis/fit/nccl_tests/nccl_names.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "analysis/fit/nccl_tests/nccl_line.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {

std::string collective_of_program(std::string_view program) {
  constexpr std::size_t longest = 48;
  if (const std::size_t slash = program.find_last_of("/\\"); slash != std::string_view::npos)
    program.remove_prefix(slash + 1);
  for (const std::string_view end : {".exe", "_mpi", "_perf"})
    if (program.ends_with(end)) program.remove_suffix(end.size());
  return std::string(program.substr(0, longest));
}

std::int64_t root_of_text(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return number_of<std::int64_t>(text).value_or(-1);
}

NcclTestsWarning wrong_values_warning(const std::string& count) {
  return {"log_wrong_values",
          "nccl-tests found wrong results (out-of-bounds values: " + count +
              " FAILED): the collectives did not compute the right values, so the times may be wrong too",
          "repair the links or the software, and measure again"};
}

void keep_one_kind(NcclTestsRun& run) {
  if (run.rows.empty()) return;
  const auto place = [](const NcclTestsRow& row) {  // in the order of preference
    constexpr std::array<std::string_view, 3> types = {"float", "bfloat16", "half"};
    return std::pair(row.operation != "sum", std::ranges::find(types, std::string_view(row.type)) - types.begin());
  };
  const auto kept = std::ranges::min_element(run.rows, {}, place);
  run.type = kept->type;
  run.operation = kept->operation;
  std::set<std::string> others;
  std::erase_if(run.rows, [&](const NcclTestsRow& row) {
    const bool other = row.type != run.type || row.operation != run.operation;
    if (other) others.insert(row.type + " " + row.operation);
    return other;
  });
  if (others.empty()) return;
  std::string names;
  for (const std::string& name : others) names += (names.empty() ? "" : ", ") + name;
  run.warnings.push_back({"log_kinds_left_out",
                          "the log has several types or operations: the rows of " + run.type + " " + run.operation +
                              " are used, those of " + names + " are left out",
                          "run nccl-tests with the type and the operation of the job's gradients (-d, -o)"});
}

void set_bus_factors(NcclTestsRun& run) {
  std::vector<double> factors;
  for (const NcclTestsRow& row : run.rows) {
    if (!(row.bus_factor > 0.0)) continue;
    factors.push_back(row.bus_factor);
    run.bus_factor_low = std::max(run.bus_factor_low, row.bus_factor_low);
    run.bus_factor_high =
        run.bus_factor_high > 0.0 ? std::min(run.bus_factor_high, row.bus_factor_high) : row.bus_factor_high;
  }
  if (!factors.empty()) run.bus_factor = stats::median(factors);
}

}  // namespace ddpprof::fit
