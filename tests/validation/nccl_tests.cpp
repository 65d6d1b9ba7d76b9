// nccl-tests' tables of real clusters: every other size is fitted, the sizes between are predicted.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <vector>

#include "analysis/fit/nccl_tests/nccl_tests.hpp"
#include "simulator/collective/curve.hpp"
#include "simulator/stats/summary.hpp"
#include "tests/validation/data.hpp"

namespace {

using ddpprof::collective::Curve;
using ddpprof::collective::SizeTime;

constexpr double most_error = 0.05;  // of a file's median

}  // namespace

int main() {
  const auto data = ddpprof::validation::data_folder("nccl-tests");
  if (!data) return ddpprof::validation::skipped;
  std::cout << "Fitted to every other size, predicted between them.\n\n"
               "| table | ranks | sizes fitted | predicted | median error | 90th percentile | largest |\n"
               "|---|---|---|---|---|---|---|\n";
  bool good = true;
  for (const auto& [file, ranks] : {std::pair{"t4_8ranks_pcie_ring_simple.txt", 8},
                                    {"k80_4ranks_pcie.txt", 4},
                                    {"a100_16ranks_efa.txt", 16},
                                    {"b200_8ranks.txt", 8}}) {
    const auto log = ddpprof::fit::read_nccl_tests(*data / file).at(0);
    std::vector<SizeTime> fitted, between;
    for (std::size_t i = 0; i < log.rows.size(); ++i)
      (i % 2 == 0 ? fitted : between).push_back({static_cast<double>(log.rows[i].bytes), log.rows[i].out_of_place_s});
    const Curve curve(ranks, fitted);
    std::vector<double> errors;
    for (const SizeTime& point : between) errors.push_back(std::abs(curve.time_s(point.bytes) / point.time_s - 1.0));
    const double median = ddpprof::stats::median(errors);
    std::cout << fmt::format("| {} | {} | {} | {} | {:.1f} % | {:.1f} % | {:.1f} % |\n", file, ranks, fitted.size(),
                             between.size(), 100 * median, 100 * ddpprof::stats::quantile(errors, 0.9),
                             100 * *std::max_element(errors.begin(), errors.end()));
    good = good && median <= most_error;
  }
  if (!good) std::cout << "\nworse than accepted\n";
  return good ? 0 : 1;
}
