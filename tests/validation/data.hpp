// Paths and tables of measured data of real clusters.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ddpprof::validation {

inline constexpr int skipped = 77;  // exit code of a comparison without its data

// DDPPROF_DATA_DIR, or ../shared/data beside the clone; where `part` is not there, says so and gives nothing.
std::optional<std::filesystem::path> data_folder(const std::string& part);

// A CSV file's rows without the line of names; a cell in quotes may hold commas. Throws std::runtime_error when the
// file cannot be read.
std::vector<std::vector<std::string>> read_csv(const std::filesystem::path&);

using Record = std::map<std::string, std::string>;  // the cells of a row by the name of their column
std::vector<Record> read_records(const std::filesystem::path&);

struct Coverage {
  std::int64_t covered = 0, asked = 0;
  double share() const { return static_cast<double>(covered) / static_cast<double>(asked); }
};
// 95 % interval of a share, by Wilson's score.
std::pair<double, double> binomial(const Coverage&);

}  // namespace ddpprof::validation
