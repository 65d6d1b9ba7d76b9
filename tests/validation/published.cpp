// Scaling tables that vendors and users have published: fitted to all counts but the largest, which is predicted.
//
// Such tables have little beside throughput, and some of their values cannot be true: tables that show more than N
// times one device's throughput on N devices are named.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <optional>

#include "analysis/fit/table/step_table.hpp"
#include "analysis/predict/predict.hpp"
#include "simulator/stats/summary.hpp"
#include "tests/validation/data.hpp"

namespace {

using ddpprof::fit::StepRow;
using ddpprof::fit::StepTable;

constexpr double impossible = 1.02;  // larger speedups over N are not explained by rounding
constexpr double most_median = 0.05;
constexpr std::int64_t devices_on_a_node = 8;

enum Column : std::size_t {
  model,
  framework,
  system,
  devices,
  interconnect,
  precision,
  batch,
  count,
  throughput,
  unit,
  note
};

struct Point {
  std::int64_t workers;
  double throughput;
};

struct Published {
  std::string name;
  bool shares_global_batch = false;     // as many samples a step at every count: fewer a worker
  std::int64_t first_accumulation = 1;  // at the fewest devices, where it is said
  std::int64_t per_node = devices_on_a_node;
  std::vector<Point> points;  // ascending
};

// Rows that differ in nothing but the count. Accumulation that halves as the count doubles keeps the global batch.
std::vector<Published> read(const std::filesystem::path& path) {
  std::map<std::string, Published> tables;
  for (const auto& row : ddpprof::validation::read_csv(path)) {
    const bool shared = row[note].starts_with("multi-node");
    const std::string what =
        shared ? row[note].substr(0, row[note].find(";accum")) : row[note].substr(0, row[note].find("; "));
    Published& table = tables[row[model] + "|" + row[system] + "|" + row[devices] + "|" + row[precision] + "|" +
                              row[batch] + "|" + what];
    table.name = row[model] + ", " + row[system] + (row[precision].empty() ? "" : ", " + row[precision]) +
                 (row[batch].empty() ? "" : ", batch " + row[batch]);
    table.shares_global_batch = shared;
    if (row[devices].starts_with("16x")) table.per_node = 16;
    // "accum=64 and 32": of TF32 or FP32, and of AMP.
    if (const auto at = row[note].find(";accum="); shared && at != std::string::npos) {
      const std::string both = row[note].substr(at + 7);
      const auto second = both.find(" and ");
      const bool mixed = row[precision] == "AMP" && second != std::string::npos;
      table.first_accumulation =
          std::max<std::int64_t>(table.first_accumulation, std::stoll(mixed ? both.substr(second + 5) : both));
    }
    table.points.push_back({std::stoll(row[count]), std::stod(row[throughput])});
  }
  std::vector<Published> all;
  for (auto& [key, table] : tables) {
    std::ranges::sort(table.points, {}, &Point::workers);
    all.push_back(std::move(table));
  }
  return all;
}

// A step of `worth` samples on every worker, or in all where the global batch is kept.
StepRow step_of(const Published& table, const Point& point) {
  constexpr std::int64_t worth = 1 << 16;
  StepRow row;
  row.workers = point.workers;
  row.nodes = (point.workers + table.per_node - 1) / table.per_node;
  row.batch_per_worker = worth;
  if (table.shares_global_batch) {
    // The largest is at the fewest devices, and halves as they double.
    row.accumulation = table.first_accumulation * table.points.front().workers / point.workers;
    row.batch_per_worker = worth / table.first_accumulation;
  }
  row.step_s = static_cast<double>(row.batch_per_worker * row.accumulation * point.workers) / point.throughput;
  row.devices_per_node = std::min(point.workers, table.per_node);
  return row;
}

}  // namespace

int main() {
  const auto data = ddpprof::validation::data_folder("scaling");
  if (!data) return ddpprof::validation::skipped;
  std::cout
      << "Fitted to the smaller counts, predicted for the largest; linear: as many times the largest fitted count's "
         "throughput.\n\n| table | fitted | predicted | error | linear | 90 % interval covers "
         "|\n|---|---|---|---|---|---|\n";
  std::vector<double> errors, linear_errors;
  ddpprof::validation::Coverage coverage;
  std::vector<std::string> doubtful, refused;
  for (const Published& table : read(*data / "published.csv")) {
    const Point &first = table.points.front(), &last = table.points.back();
    for (const Point& point : table.points)
      if (point.throughput / static_cast<double>(point.workers) >
          impossible * first.throughput / static_cast<double>(first.workers)) {
        doubtful.push_back(fmt::format("{}: N = {} has {:.2f} times the throughput a device of N = {}", table.name,
                                       point.workers,
                                       point.throughput / static_cast<double>(point.workers) /
                                           (first.throughput / static_cast<double>(first.workers)),
                                       first.workers));
        break;
      }
    if (table.points.size() < 3) continue;  // two counts: one to fit says nothing of communication
    std::vector<StepRow> fitted;
    for (const Point& point : table.points)
      if (point.workers < last.workers) fitted.push_back(step_of(table, point));
    const StepRow held_out = step_of(table, last);
    std::string counts;
    for (const StepRow& row : fitted) counts += (counts.empty() ? "" : ", ") + std::to_string(row.workers);
    try {
      const auto prediction = StepTable(fitted).predict(held_out);
      const double error = prediction.step_s / held_out.step_s - 1.0;
      const StepRow& largest = fitted.back();
      const auto samples = [](const StepRow& row) {
        return static_cast<double>(row.batch_per_worker * row.accumulation);
      };
      const double linear = samples(held_out) * largest.step_s / samples(largest) / held_out.step_s - 1.0;
      const bool covered = prediction.low_s <= held_out.step_s && held_out.step_s <= prediction.high_s;
      errors.push_back(std::abs(error));
      linear_errors.push_back(std::abs(linear));
      coverage.covered += covered;
      ++coverage.asked;
      std::cout << fmt::format("| {} | {} | {} | {:+.1f} % | {:+.1f} % | {} |\n", table.name, counts, last.workers,
                               100 * error, 100 * linear, covered ? "yes" : "no");
    } catch (const ddpprof::fit::NotSupported& error) {
      refused.push_back(table.name + " at N = " + std::to_string(last.workers) + ": " + error.reason());
    }
  }
  using namespace ddpprof::stats;
  const auto [low, high] = ddpprof::validation::binomial(coverage);
  std::cout << fmt::format(
      "| together | | {} tables | median {:.1f} %, mean {:.1f} % | median {:.1f} %, mean {:.1f} % | {:.0f} % (95 %: "
      "{:.0f} to {:.0f}) |\n",
      errors.size(), 100 * median(errors), 100 * mean(errors), 100 * median(linear_errors), 100 * mean(linear_errors),
      100 * coverage.share(), 100 * low, 100 * high);
  for (const std::string& one : refused) std::cout << "\nNot predicted: " << one << '\n';
  for (const std::string& one : doubtful) std::cout << "\nCannot be true: " << one << '\n';
  const bool good = errors.size() >= 20 && median(errors) <= most_median;
  if (!good) std::cout << "\nworse than accepted\n";
  return good ? 0 : 1;
}
