#include "tests/validation/large_batch/trainings.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <sstream>

#include "simulator/stats/summary.hpp"
#include "tests/validation/data.hpp"

namespace ddpprof::validation {
namespace {

// One line of a table.
struct Setting {
  std::string source, benchmark, round, optimizer;
  Training training;
};

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Mean over the seeds, without those above twice the median.
double mean_of_seeds(const std::string& text) {
  std::istringstream words(text);
  std::vector<double> seeds, kept;
  for (double one = 0.0; words >> one;) seeds.push_back(one);
  const double limit = 2.0 * stats::median(seeds);
  for (const double one : seeds)
    if (one <= limit) kept.push_back(one);
  return stats::mean(kept);
}

std::vector<Setting> read_settings(const std::filesystem::path& folder) {
  std::vector<Setting> all;
  std::map<std::string, std::string> optimizers;  // that the reference of a benchmark names
  for (Record& row : read_records(folder / "rcp.csv")) {
    const std::string benchmark = row["benchmark"] == "ssd_retinanet" ? "retinanet" : row["benchmark"];
    const std::string optimizer = lower(row["optimizer"]);
    if (!optimizer.empty()) optimizers[benchmark] = optimizer;
    all.push_back({"reference", benchmark, "", optimizer, {}});
    all.back().training = {std::stod(row["global_batch"]), mean_of_seeds(row["values"]),
                           std::stod(row["learning_rate"])};
  }
  for (Record& row : read_records(folder / "submissions.csv")) {
    // From round v2.0 on, the model of the benchmark "ssd" is RetinaNet.
    const bool retinanet = row["benchmark"] == "ssd" && row["round"] != "v0.7";
    all.push_back(
        {"submissions", retinanet ? "retinanet" : row["benchmark"], row["round"], lower(row["optimizer"]), {}});
    const std::string& rate = row["learning_rate"];
    all.back().training = {std::stod(row["global_batch"]), mean_of_seeds(row["values"]),
                           rate.empty() ? 0.0 : std::stod(rate)};
  }
  for (Setting& one : all) {
    if (!one.optimizer.empty()) continue;
    const auto named = optimizers.find(one.benchmark);
    one.optimizer = named == optimizers.end() ? "not stated" : named->second;
  }
  return all;
}

double median_of(const std::vector<Training>& all, double Training::*member) {
  std::vector<double> values;
  for (const Training& one : all)
    if (one.*member > 0.0) values.push_back(one.*member);
  return values.empty() ? 0.0 : stats::median(values);
}

// Batches within a tenth of the first are one.
std::vector<Training> merged(std::vector<Training> all, bool reference) {
  std::ranges::sort(all, {}, &Training::batch);
  std::vector<Training> found;
  for (auto first = all.begin(); first != all.end();) {
    const double limit = 1.1 * first->batch;
    const auto end = std::find_if(first, all.end(), [&](const Training& one) { return one.batch >= limit; });
    const std::vector<Training> same(first, end);
    if (reference)
      found.push_back(*std::ranges::min_element(same, {}, &Training::samples));
    else
      found.push_back(
          {median_of(same, &Training::batch), median_of(same, &Training::samples), median_of(same, &Training::rate)});
    first = end;
  }
  return found;
}

}  // namespace

std::vector<learning_rate::BatchSamples> TrainingSeries::samples() const {
  std::vector<learning_rate::BatchSamples> all;
  for (const Training& one : trainings) all.push_back({one.batch, one.samples});
  return all;
}

std::vector<TrainingSeries> read_trainings(const std::filesystem::path& large_batch) {
  std::map<std::string, std::vector<Setting>> groups;
  for (const Setting& one : read_settings(large_batch)) {
    std::string name = one.benchmark + ", " + one.source;
    if (!one.round.empty()) name += " " + one.round;
    groups[name + ", " + one.optimizer].push_back(one);
  }
  std::vector<TrainingSeries> all;
  for (const auto& [name, settings] : groups) {
    TrainingSeries series;
    const std::string& benchmark = settings.front().benchmark;
    series.benchmark = benchmark.starts_with("dlrm") ? "dlrm" : benchmark;
    series.optimizer = settings.front().optimizer;
    series.name = name;
    std::vector<Training> trainings;
    for (const Setting& one : settings) trainings.push_back(one.training);
    series.trainings = merged(std::move(trainings), settings.front().source == "reference");
    if (series.trainings.size() >= 3) all.push_back(std::move(series));
  }
  return all;
}

}  // namespace ddpprof::validation
