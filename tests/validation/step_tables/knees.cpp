#include "tests/validation/step_tables/knees.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <map>

#include "analysis/fit/table/step_table.hpp"
#include "simulator/stats/summary.hpp"
#include "tests/validation/data.hpp"

namespace ddpprof::validation {
namespace {

using fit::StepRow;
using fit::StepTable;

constexpr std::int64_t most_workers = 8;
constexpr double knee_share = 0.2;

// Exposed communication as a share of the step, waits for slower ranks included, of placements with as many devices on
// every node: devices a node, batch -> N -> share.
using Shares = std::map<std::pair<std::int64_t, std::int64_t>, std::map<std::int64_t, double>>;

Shares measured_shares(const std::filesystem::path& folder) {
  std::map<std::array<std::int64_t, 3>, std::vector<double>> found;  // devices a node, batch, N
  for (const auto& row : read_csv(folder / "placements.csv")) {
    const char devices = row[0].front();
    if (row[0].find_first_not_of(devices) != std::string::npos) continue;
    const std::int64_t a_node = devices - '0';
    found[{a_node, std::stoll(row[1]), a_node * static_cast<std::int64_t>(row[0].size())}].push_back(std::stod(row[3]) /
                                                                                                     std::stod(row[2]));
  }
  for (const auto& row : read_csv(folder / "scalability.csv")) {
    const std::int64_t nodes = std::stoll(row[0]), workers = std::stoll(row[1]);
    if (workers % nodes == 0)
      found[{workers / nodes, std::stoll(row[2]), workers}].push_back(std::stod(row[4]) / std::stod(row[3]));
  }
  Shares shares;
  for (const auto& [key, several] : found) shares[{key[0], key[1]}][key[2]] = ddpprof::stats::median(several);
  return shares;
}

// Returns the smallest N at which exposed communication takes at least this share of the step, or 0.
std::int64_t knee(const std::map<std::int64_t, double>& shares) {
  const auto found =
      std::find_if(shares.begin(), shares.end(), [](const auto& one) { return one.second >= knee_share; });
  return found == shares.end() ? 0 : found->first;
}

}  // namespace

bool judge_knees(const std::filesystem::path& pollux, const PolluxRows& models, const PlacementFits& fits) {
  std::cout
      << "\n### The knee, from which on at least a fifth of the step is exposed communication\n\nMeasured: "
         "`sync_time`. Fitted to N <= 8 on at most 4 nodes; knees above the fitted N, with as many devices on every "
         "node.\n\n| model | devices a node | batch | fitted up to | measured knee | predicted "
         "|\n|---|---|---|---|---|---|\n";
  std::size_t asked = 0, near = 0, without = 0, imagined = 0;
  for (const auto& [model, rows] : models) {
    fit::TableOptions options;
    options.constants.placement = placement_priors(fits, model);
    options.draws = 1;  // intervals are not asked for
    std::vector<StepRow> fitted;
    for (const StepRow& row : rows)
      if (row.workers <= most_workers && row.nodes <= 4) fitted.push_back(row);
    const StepTable table(fitted, options);
    for (const auto& [shape, shares] : measured_shares(pollux / model)) {
      const auto [a_node, batch] = shape;
      const std::int64_t most_fitted = std::min(most_workers, 4 * a_node), measured = knee(shares);
      if (shares.begin()->first > most_fitted || (measured > 0 && measured <= most_fitted)) continue;
      std::map<std::int64_t, double> predicted;
      for (std::int64_t nodes = 1; nodes <= 64; ++nodes) {
        const auto row = table.predict({a_node * nodes, nodes, batch, 0.0, a_node});
        predicted[a_node * nodes] = (row.exposed_s + row.skew_s) / row.step_s;
      }
      const std::int64_t expected = knee(predicted);
      if (measured == 0) {
        if (shares.rbegin()->first <= most_fitted) continue;  // nothing above the fitted N was measured
        ++without;
        imagined += expected > 0 && 2 * expected <= shares.rbegin()->first;
        continue;
      }
      ++asked;
      near += expected > 0 && 2 * expected >= measured && expected <= 2 * measured;
      std::cout << fmt::format("| {} | {} | {} | {} | {} | {} |\n", model, a_node, batch, most_fitted, measured,
                               expected > 0 ? std::to_string(expected) : "none");
    }
  }
  std::cout << fmt::format(
      "\n{} of {} within a power of two; of {} without a knee up to the largest N measured, {} are predicted to have "
      "one\n",
      near, asked, without, imagined);
  return 3 * near >= 2 * asked && 4 * imagined <= without;
}

}  // namespace ddpprof::validation
