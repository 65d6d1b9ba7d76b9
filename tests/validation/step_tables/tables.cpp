#include "tests/validation/step_tables/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "simulator/stats/summary.hpp"
#include "tests/validation/data.hpp"

namespace ddpprof::validation {
namespace {

using fit::StepRow;

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Sizes of a model are one family, from all sources.
std::string family_of(const std::string& model) {
  const std::string text = lower(model);
  for (const char* name : {"ssd", "maskrcnn", "retinanet", "resnext", "resnet", "efficientnet", "bert",
                           "transformer-xl", "transformer", "dlrm"})
    if (text.find(name) != std::string::npos) return name;
  return text.substr(0, text.find_first_of(" (-"));
}

// Pollux: cifar10 and imagenet train a ResNet.
std::string family_of_pollux(const std::string& model) {
  return model == "cifar10" || model == "imagenet" ? "resnet" : model;
}

// The repository that a row was taken from.
std::string source_of(const std::string& source) { return source.substr(0, source.find_first_of("@:")); }

std::int64_t whole(const std::string& text, std::int64_t otherwise) {
  return text.empty() ? otherwise : static_cast<std::int64_t>(std::stod(text));
}

// Rows of equal number of ranks become their mean.
struct Building {
  Series series;
  std::map<std::int64_t, std::vector<StepRow>> rows;

  void add(const StepRow& row) { rows[row.workers].push_back(row); }
  bool finish() {
    for (const auto& [workers, same] : rows) {
      StepRow row = same.front();
      double sum = 0.0;
      for (const StepRow& one : same) sum += 1.0 / one.step_s;
      row.step_s = static_cast<double>(same.size()) / sum;
      series.rows.push_back(row);
    }
    return series.rows.size() >= 3;
  }
};

void keep(std::map<std::string, Building>& building, std::vector<Series>& all) {
  for (auto& [key, one] : building)
    if (one.finish()) all.push_back(std::move(one.series));
}

// The throughput of a table without a batch is that of steps of one sample; only ratios are used.
void read_published(const std::filesystem::path& path, std::vector<Series>& all) {
  std::map<std::string, Building> building;
  for (Record& row : read_records(path)) {
    const std::string& note = row["note"];
    const bool shared = note.starts_with("multi-node");
    const std::string what = note.substr(0, note.find(shared ? ";accum" : "; "));
    const std::string key = row["model"] + ", " + row["framework"] + ", " + row["system"] + ", " + row["gpus_desc"] +
                            ", " + row["precision"] + ", " + row["batch_per_gpu"] + ", " + what;
    Building& one = building[key];
    one.series = {"published", family_of(row["model"]), source_of(row["source"]), key, {}};
    StepRow step;
    const std::int64_t per_node = row["gpus_desc"].starts_with("16x") ? 16 : 8;
    step.workers = std::stoll(row["gpus"]);
    step.nodes = (step.workers + per_node - 1) / per_node;
    step.devices_per_node = std::min(step.workers, per_node);
    step.step_s = static_cast<double>(step.workers) / std::stod(row["throughput"]);
    one.add(step);
  }
  keep(building, all);
}

void read_tables(const std::filesystem::path& path, const std::string& stratum, std::vector<Series>& all) {
  std::map<std::string, Building> building;
  std::vector<std::string> doubtful;
  for (Record& row : read_records(path)) {
    const std::string series = row["series"];
    const std::int64_t batch = whole(row["batch_per_gpu"], 1);
    if (row["note"].find("doubtful") != std::string::npos) doubtful.push_back(series);
    if (stratum == "mlperf" && row["batch_per_gpu"].empty()) continue;  // the logs differ or do not say
    Building& one = building[series];
    const std::string source = stratum == "mlperf" ? "mlperf" : source_of(row["source"]);
    one.series = {stratum, family_of(row["model"]), source, series + ", " + row["model"] + ", " + row["framework"], {}};
    StepRow step;
    step.workers = std::stoll(row["gpus"]);
    step.nodes = whole(row["nodes"], 1);
    step.batch_per_worker = batch;
    step.accumulation = whole(row["accumulation"], 1);
    step.step_s =
        static_cast<double>(step.workers * step.batch_per_worker * step.accumulation) / std::stod(row["throughput"]);
    one.add(step);
  }
  for (const std::string& series : doubtful) building.erase(series);
  keep(building, all);
}

// One batch of one model, with the placements that `chosen` accepts; of several at one number of ranks the median.
template <class Chosen>
void add_pollux(const std::string& model, const std::string& what, const std::vector<StepRow>& rows, Chosen chosen,
                std::vector<Series>& all) {
  std::map<std::int64_t, std::map<std::int64_t, std::vector<StepRow>>> found;  // by batch, by N
  for (const StepRow& row : rows)
    if (chosen(row)) found[row.batch_per_worker][row.workers].push_back(row);
  for (const auto& [batch, by_workers] : found) {
    Series series{"pollux" + what,
                  family_of_pollux(model),
                  "pollux",
                  fmt::format("pollux {}, batch {}{}", model, batch, what),
                  {}};
    for (const auto& [workers, same] : by_workers) {
      std::vector<double> times;
      for (const StepRow& row : same) times.push_back(row.step_s);
      StepRow row = same.front();
      row.step_s = stats::median(times);
      row.sync_s = -1.0;
      series.rows.push_back(row);
    }
    if (series.rows.size() >= 3 && series.rows.front().workers == 1) all.push_back(std::move(series));
  }
}

void read_pollux(const std::filesystem::path& data, std::vector<Series>& all) {
  const auto power_of_two = [](std::int64_t n) { return (n & (n - 1)) == 0; };
  for (const std::string& model : pollux_models) {
    const std::vector<StepRow> rows = pollux_rows(data / "pollux" / model);
    add_pollux(
        model, "", rows,
        [&](const StepRow& row) {
          return row.workers == 1 || (row.nodes >= 3 && row.workers != 2 && power_of_two(row.workers));
        },
        all);
    // Full nodes, as a cluster is usually rented.
    add_pollux(
        model, ", full nodes", rows,
        [&](const StepRow& row) {
          return power_of_two(row.workers) && row.nodes == (row.workers + 3) / 4 &&
                 row.devices() == std::min<std::int64_t>(4, row.workers);
        },
        all);
  }
}

}  // namespace

std::vector<StepRow> pollux_rows(const std::filesystem::path& folder) {
  std::vector<StepRow> all;
  for (const auto& row : read_csv(folder / "placements.csv")) {
    StepRow step;
    step.nodes = static_cast<std::int64_t>(row[0].size());
    step.workers = 0;
    for (const char digit : row[0]) {
      step.workers += digit - '0';
      step.devices_per_node = std::max<std::int64_t>(step.devices_per_node, digit - '0');
    }
    step.batch_per_worker = std::stoll(row[1]);
    step.step_s = std::stod(row[2]);
    step.sync_s = std::stod(row[3]);
    all.push_back(step);
  }
  for (const auto& row : read_csv(folder / "scalability.csv"))
    all.push_back(
        {std::stoll(row[1]), std::stoll(row[0]), std::stoll(row[2]), std::stod(row[3]), 0, std::stod(row[4])});
  return all;
}

std::vector<Series> read_series(const std::filesystem::path& data) {
  std::vector<Series> all;
  read_published(data / "scaling" / "published.csv", all);
  read_published(data / "scaling" / "published-more.csv", all);
  read_tables(data / "scaling" / "ddp_tables.csv", "ddp_tables", all);
  read_tables(data / "scaling" / "ddp_mlperf.csv", "mlperf", all);
  read_pollux(data, all);
  return all;
}

}  // namespace ddpprof::validation
