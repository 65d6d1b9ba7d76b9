#include "tests/validation/errors.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iostream>

#include "simulator/stats/summary.hpp"

namespace ddpprof::validation {

double Errors::size(const std::vector<double>& errors, bool mean) {
  std::vector<double> sizes;
  for (const double one : errors) sizes.push_back(std::abs(one));
  return mean ? stats::mean(sizes) : stats::median(sizes);
}

std::string Errors::text(const std::vector<double>& errors) {
  return fmt::format("{:.1f} / {:.1f}", 100 * size(errors, false), 100 * size(errors, true));
}

void Errors::print(const std::string& name, int width_digits) const {
  const auto n = static_cast<double>(own.size());
  std::cout << fmt::format("| {} | {} | {} | {:+.1f} % | {} | {} | {:.0f} % | {:.{}f} | {}, {} |\n", name, own.size(),
                           text(own), 100 * stats::median(own), text(first_baseline), text(second_baseline),
                           100 * covered / n, width / n, width_digits, above, below);
}

}  // namespace ddpprof::validation
