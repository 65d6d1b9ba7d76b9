// All-reduces across nodes from those inside one node and the name of the link: real clusters.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "analysis/fit/all_reduce_fit.hpp"
#include "analysis/predict/step_model/node_links.hpp"
#include "simulator/stats/summary.hpp"
#include "tests/validation/data.hpp"

namespace {

using ddpprof::collective::Curve;
using ddpprof::collective::SizeTime;
namespace fit = ddpprof::fit;

constexpr double least_share = 0.85;  // of the sizes that a range must contain

struct Across {
  std::string cluster, link;
  std::int64_t ranks = 0, nodes = 0;
  std::vector<SizeTime> inside, measured;
  std::int64_t inside_ranks = 8;
};

// nccl-tests of H100 nodes with an NDR link for each GPU. Inside: the median of ten nodes with 8 ranks.
std::vector<Across> h100_nodes(const std::filesystem::path& file) {
  std::map<double, std::vector<double>> inside;
  std::map<std::int64_t, std::vector<SizeTime>> across;  // by ranks
  for (const auto& row : ddpprof::validation::read_csv(file)) {
    const std::int64_t ranks = std::stoll(row.at(1)), nodes = std::stoll(row.at(2));
    const double bytes = std::stod(row.at(4)), time_s = 1e-6 * std::stod(row.at(5));
    if (row.at(3) != "all_reduce") continue;
    if (nodes == 1 && ranks == 8) inside[bytes].push_back(time_s);
    if (nodes == 10) across[ranks].push_back({bytes, time_s});
  }
  std::vector<SizeTime> one_node;
  for (const auto& [bytes, times] : inside) one_node.push_back({bytes, ddpprof::stats::median(times)});
  std::vector<Across> all;
  for (const auto& [ranks, measured] : across)
    all.push_back({"H100, NDR", fmt::format("{}xndr", ranks / 10), ranks, 10, one_node, measured});
  return all;
}

// B200 nodes with 8 × 400 Gbit/s EFA: bus bandwidths of one node and of four, from a table.
Across b200_nodes(const std::filesystem::path& file) {
  Across one{"B200, EFA", "8x400Gbit/s", 32, 4, {}, {}};
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    double payload = 0.0, inside = 0.0, across = 0.0;
    char unit[4] = {};
    if (std::sscanf(line.c_str(), "| %lf%3[KMGiB] | %lfGBps | %lfGBps", &payload, unit, &inside, &across) != 4)
      continue;
    const double bytes = payload * (unit[0] == 'K' ? 1024.0 : unit[0] == 'M' ? 1048576.0 : 1073741824.0);
    one.inside.push_back({bytes, 2.0 * 7.0 / 8.0 * bytes / (inside * 1e9)});
    one.measured.push_back({bytes, 2.0 * 31.0 / 32.0 * bytes / (across * 1e9)});
  }
  return one;
}

double time_s(const fit::AllReduceFit& fitted, const fit::Machine& machine, const fit::NodeLink& link, double bytes) {
  const fit::FormFit& picked = fitted.picked();
  const std::vector<double>& values = picked.solution.values;
  const fit::AcrossNodes factors = fit::across_nodes(picked, values, machine, link, bytes);
  return picked.form
      .over(machine, std::llround(bytes), picked.step_link(machine, values, factors.latency, factors.bandwidth))
      .total_s();
}

}  // namespace

int main() {
  const auto collectives = ddpprof::validation::data_folder("collectives");
  const auto logs = ddpprof::validation::data_folder("nccl-tests");
  if (!collectives || !logs) return ddpprof::validation::skipped;
  std::vector<Across> all = h100_nodes(*collectives / "h_cluster_ib.csv");
  all.push_back(b200_nodes(*logs / "b200_8_and_32ranks_efa.txt"));
  std::cout << "Across nodes from one node and the name of the link. Within: between the fastest and the slowest link "
               "of the range. Middle: the middle of the named range.\n\n"
               "| cluster | ranks | nodes | link | sizes | within usual links | within the named link | middle: median "
               "error |\n|---|---|---|---|---|---|---|---|\n";
  bool good = true;
  for (const Across& one : all) {
    const fit::AllReduceFit fitted = fit::fit_all_reduce({}, {Curve(one.inside_ranks, one.inside, 1)});
    fit::Machine machine;
    machine.workers = one.ranks;
    machine.nodes = machine.machines = one.nodes;
    machine.backend = "nccl";
    machine.device = "cuda";
    const auto usual = fit::range_of(ddpprof::collective::usual_node_links(), machine);
    const auto named = fit::range_of(ddpprof::collective::parse_node_links(one.link), machine);
    std::size_t within_usual = 0, within_named = 0;
    std::vector<double> errors;
    for (const SizeTime& point : one.measured) {
      const auto within = [&](const fit::NodeLinkRange& range) {
        return time_s(fitted, machine, range.fast, point.bytes) <= point.time_s &&
               point.time_s <= time_s(fitted, machine, range.slow, point.bytes);
      };
      within_usual += within(usual) ? 1 : 0;
      within_named += within(named) ? 1 : 0;
      errors.push_back(std::abs(time_s(fitted, machine, named.middle, point.bytes) / point.time_s - 1.0));
    }
    const auto sizes = static_cast<double>(one.measured.size());
    std::cout << fmt::format("| {} | {} | {} | {} | {} | {} | {} | {:.0f} % |\n", one.cluster, one.ranks, one.nodes,
                             one.link, one.measured.size(), within_usual, within_named,
                             100.0 * ddpprof::stats::median(errors));
    good = good && static_cast<double>(within_usual) >= least_share * sizes &&
           static_cast<double>(within_named) >= least_share * sizes;
  }
  if (!good) std::cout << "\nworse than accepted\n";
  return good ? 0 : 1;
}
