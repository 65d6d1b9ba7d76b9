#include "tests/validation/data.hpp"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
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

std::vector<Record> read_records(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) throw std::runtime_error(path.string() + ": cannot be read");
  std::vector<std::string> names;
  if (line.ends_with('\r')) line.pop_back();
  std::istringstream cells(line);
  for (std::string name; std::getline(cells, name, ',');) names.push_back(name);
  std::vector<Record> found;
  for (const auto& row : read_csv(path)) {
    Record record;
    for (std::size_t i = 0; i < names.size() && i < row.size(); ++i) record[names[i]] = row[i];
    found.push_back(std::move(record));
  }
  return found;
}

std::pair<double, double> binomial(const Coverage& coverage) {
  const double z = 1.96, n = static_cast<double>(coverage.asked), p = coverage.share();
  const double centre = (p + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n);
  return {centre - half, centre + half};
}

}  // namespace ddpprof::validation
