// The values supplied with the traces, to their last digit, by the report's rules.
//
// They were computed in microseconds of double precision, as Holistic Trace Analysis does. At 4.5e12 us, the time of
// the A100's trace, neighbouring doubles are 0.98 ns apart. Intervals shift by up to half of that, and a thousand of
// them by 72 ns: rule `hta` gives these values, rule `intersection` the values of the file's decimals. Times of the
// V100's trace are whole microseconds: both rules give the same.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "analysis/import/load/import.hpp"
#include "analysis/report/report.hpp"
#include "tests/store/shard_builder.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::report {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> traces() {
  const char* folder = std::getenv("DDPPROF_DATA_DIR");
  if (!folder || !fs::exists(fs::path(folder) / "traces" / "expected_kineto.csv")) return std::nullopt;
  return fs::path(folder) / "traces";
}

using Figures = std::map<std::string, std::string>;  // by column

std::map<std::pair<std::string, std::string>, Figures> expected(const fs::path& file) {
  std::map<std::pair<std::string, std::string>, Figures> all;
  std::ifstream in(file);
  std::string line;
  std::vector<std::string> names;
  while (std::getline(in, line)) {
    if (line.ends_with('\r')) line.pop_back();
    std::vector<std::string> cells;
    std::stringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    if (names.empty()) {
      names = cells;
      continue;
    }
    Figures figures;
    for (std::size_t i = 0; i < names.size() && i < cells.size(); ++i) figures[names[i]] = cells[i];
    all[{figures.at("file"), figures.at("step")}] = figures;
  }
  return all;
}

double real(const Table& table, const Row& row, const std::string& column) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].name != column) continue;
    if (const auto* whole = std::get_if<std::int64_t>(&row[i])) return static_cast<double>(*whole);
    if (const auto* number = std::get_if<double>(&row[i])) return *number;
    return std::nan("");
  }
  ADD_FAILURE() << "no column " << column;
  return std::nan("");
}

std::string window_of(const Table& table, const Row& row) {
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].name == "window") return std::get<std::string>(row[i]);
  return "";
}

// Compares with as many decimals as the supplied value has.
void expect_figure(const std::string& figure, double value, const std::string& what) {
  const std::size_t point = figure.find('.');
  const int digits = point == std::string::npos ? 0 : static_cast<int>(figure.size() - point - 1);
  const double scale = std::pow(10.0, digits);
  EXPECT_EQ(std::round(value * scale), std::round(std::stod(figure) * scale)) << what << " " << figure << " " << value;
}

struct Imported {
  explicit Imported(const fs::path& file) : database(store::Database::create(folder / "a.db")) {
    import::ImportOptions options;
    options.files = {file};
    import::import_traces(database, options);
    database.finish_load();
  }
  test::TemporaryFolder folder;
  store::Database database;
};

TEST(ExpectedKineto, EveryFigureToItsLastDigitByHtasRule) {
  const auto folder = traces();
  if (!folder) GTEST_SKIP() << "DDPPROF_DATA_DIR holds no traces";
  const auto figures = expected(*folder / "expected_kineto.csv");
  std::size_t checked = 0;
  for (const char* name : {"a100_ddp_rank0of2.json.gz", "v100_ddp_rank1of2.json.gz"}) {
    Imported imported(*folder / name);
    const Report report = build_report(imported.database, "overlap", metrics::OverlapRule::hta);
    const Table& table = report.tables.at(0);
    for (const Row& row : table.rows) {
      const std::string window = window_of(table, row), what = std::string(name) + " " + window;
      const Figures& expected = figures.at({name, window});
      const auto us = [&](const char* column) { return 1e6 * real(table, row, column); };
      expect_figure(expected.at("span_us"), us("span_s"), what);
      expect_figure(expected.at("compute_us"), us("compute_s"), what);
      expect_figure(expected.at("comm_us"), us("communication_s"), what);
      expect_figure(expected.at("mem_us"), us("copies_s"), what);
      expect_figure(expected.at("overlap_us"), us("overlapped_s"), what);
      expect_figure(expected.at("exposed_comm_us"), us("exposed_s"), what);
      expect_figure(expected.at("gpu_idle_us"), us("idle_s"), what);
      expect_figure(expected.at("overlap_pct_of_comm"), 100.0 * real(table, row, "overlapped_share"), what);
      ++checked;
    }
  }
  EXPECT_EQ(checked, figures.size());
}

TEST(ExpectedKineto, WholeNanosecondsDifferByWhatDoublesRoundAlone) {
  const auto folder = traces();
  if (!folder) GTEST_SKIP() << "DDPPROF_DATA_DIR holds no traces";
  const auto figures = expected(*folder / "expected_kineto.csv");
  for (const auto& [name, most_ns] :
       {std::pair{"a100_ddp_rank0of2.json.gz", 73.0}, {"v100_ddp_rank1of2.json.gz", 0.0}}) {
    Imported imported(*folder / name);
    const Report report = build_report(imported.database, "overlap");
    ASSERT_EQ(report.tables.back().name, "device_time");
    const Table& table = report.tables.back();
    ASSERT_FALSE(table.rows.empty());
    for (const Row& row : table.rows) {
      const Figures& expected = figures.at({name, window_of(table, row)});
      for (const auto& [column, figure] : {std::pair{"span_s", "span_us"},
                                           {"compute_s", "compute_us"},
                                           {"communication_s", "comm_us"},
                                           {"copies_s", "mem_us"},
                                           {"overlapped_s", "overlap_us"},
                                           {"exposed_s", "exposed_comm_us"},
                                           {"idle_s", "gpu_idle_us"}})
        EXPECT_NEAR(1e9 * real(table, row, column), 1e3 * std::stod(expected.at(figure)), most_ns + 1e-3)
            << name << " " << window_of(table, row) << " " << column;
      EXPECT_EQ(real(table, row, "collectives"), std::stod(expected.at("nccl_kernels")));
    }
  }
}

}  // namespace
}  // namespace ddpprof::report
