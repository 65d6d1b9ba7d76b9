#include "tests/validation/data.hpp"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <stdexcept>

namespace ddpprof::validation {

std::optional<std::filesystem::path> data_folder(const std::string& part) {
  const char* named = std::getenv("DDPPROF_DATA_DIR");
  const std::filesystem::path folder = std::filesystem::path(named != nullptr ? named : "../shared/data") / part;
  if (std::filesystem::exists(folder)) return folder;
  std::cout << "skipped: no " << folder.string() << '\n';
  return std::nullopt;
}

std::vector<std::vector<std::string>> read_csv(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  std::vector<std::vector<std::string>> rows;
  std::string line;
  std::getline(file, line);  // names
  while (std::getline(file, line)) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (const char one : line) {
      if (one == '"') {
        quoted = !quoted;
      } else if (one == ',' && !quoted) {
        cells.emplace_back();
      } else {
        cells.back() += one;
      }
    }
    rows.push_back(std::move(cells));
  }
  return rows;
}

std::pair<double, double> binomial(const Coverage& coverage) {
  const double z = 1.96, n = static_cast<double>(coverage.asked), p = coverage.share();
  const double centre = (p + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n);
  return {centre - half, centre + half};
}

}  // namespace ddpprof::validation
