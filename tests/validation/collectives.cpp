// Judges predictions of collectives at the largest number of ranks from fewer ranks, beside trivial baselines.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>

#include "analysis/fit/nccl_tests/collective_series.hpp"
#include "simulator/stats/summary.hpp"
#include "tests/validation/data.hpp"
#include "tests/validation/errors.hpp"

namespace {

using namespace ddpprof;
using validation::Errors;
using fit::CollectiveRun;

std::vector<CollectiveRun> read_runs(const std::filesystem::path& path) {
  std::map<std::tuple<std::string, std::string, std::int64_t, std::int64_t>, CollectiveRun> runs;
  for (validation::Record& row : validation::read_records(path)) {
    if (row["variant"].starts_with("smoke")) continue;  // two hosts, five sizes
    const std::string op = row["collective"] == "alltoall" ? "all_to_all" : row["collective"];
    if (!fit::is_predicted_collective(op)) continue;
    const std::int64_t ranks = std::stoll(row["ranks"]), hosts = std::stoll(row["nodes"]);
    CollectiveRun& run = runs[{op, row["variant"], ranks, hosts}];
    run.op = op, run.ranks = ranks, run.hosts = hosts;
    run.times.push_back({std::stod(row["size_B"]), std::stod(row["time_us"]) * 1e-6});
  }
  std::vector<CollectiveRun> all;
  for (auto& [key, run] : runs) all.push_back(std::move(run));
  return all;
}

// The time of the nearest size (sizes are rounded to the ranks), in proportion.
double time_at(const CollectiveRun& run, double bytes) {
  const auto* found =
      &*std::ranges::min_element(run.times, {}, [&](const auto& one) { return std::abs(one.bytes - bytes); });
  return found->time_s * bytes / found->bytes;
}

struct Question {
  std::string file;
  std::vector<std::int64_t> given;  // the last two make the baselines
  std::int64_t ranks, hosts;
};

void judge(const std::filesystem::path& folder, const Question& question, std::map<std::string, Errors>& all) {
  const std::vector<CollectiveRun> runs = read_runs(folder / question.file);
  const auto find = [&](const std::string& op, std::int64_t ranks) -> const CollectiveRun* {
    for (const CollectiveRun& run : runs)
      if (run.op == op && run.ranks == ranks && run.hosts == question.hosts) return &run;
    return nullptr;
  };
  std::vector<CollectiveRun> given;
  for (const CollectiveRun& run : runs)
    if (std::ranges::find(question.given, run.ranks) != question.given.end() || run.hosts < question.hosts)
      given.push_back(run);
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"}) {
    const CollectiveRun* asked = find(op, question.ranks);
    if (asked == nullptr) continue;
    const std::int64_t last_ranks = question.given.back(), before_ranks = question.given[question.given.size() - 2];
    const CollectiveRun &last = *find(op, last_ranks), &before = *find(op, before_ranks);
    const fit::CollectiveSeries series(op, given);
    const double doublings = std::log(static_cast<double>(question.ranks) / static_cast<double>(last_ranks)) /
                             std::log(static_cast<double>(last_ranks) / static_cast<double>(before_ranks));
    for (const collective::SizeTime& one : asked->times) {
      const fit::CollectiveTime predicted = series.predict(one.bytes, question.ranks, question.hosts);
      const double same = time_at(last, one.bytes);
      const double power = same * std::pow(same / time_at(before, one.bytes), doublings);
      for (Errors* errors : {&all[question.file + ", " + op], &all[question.file], &all["together"]}) {
        errors->own.push_back(predicted.time_s / one.time_s - 1.0);
        errors->first_baseline.push_back(same / one.time_s - 1.0);
        errors->second_baseline.push_back(power / one.time_s - 1.0);
        errors->above += one.time_s > predicted.high_s;
        errors->below += one.time_s < predicted.low_s;
        errors->covered += one.time_s >= predicted.low_s && one.time_s <= predicted.high_s;
        errors->width += std::log(predicted.high_s / predicted.low_s);
      }
    }
  }
}

}  // namespace

int main() {
  const auto folder = validation::data_folder("collectives");
  if (!folder) return validation::skipped;
  std::map<std::string, Errors> all;
  judge(*folder, {"h_cluster_ib.csv", {10, 20, 40}, 80, 10}, all);
  judge(*folder, {"galvatron_node.csv", {2, 4}, 8, 1}, all);
  std::cout
      << "| collective | sizes | error | median off by | same time | power law | covered | width | measured above, "
         "below |\n|---|---|---|---|---|---|---|---|---|\n";
  for (const auto& [name, errors] : all) errors.print(name, 2);
  bool met = true;
  const auto check = [&](const std::string& what, bool holds) {
    if (!holds) std::cout << "\nNot met: " << what << '\n';
    met = met && holds;
  };
  for (const char* name : {"h_cluster_ib.csv", "galvatron_node.csv", "together"}) {
    const Errors& one = all.at(name);
    for (const bool mean : {false, true}) {
      const double own = Errors::size(one.own, mean);
      check(fmt::format("{}: {} below the same time and the power law", name, mean ? "mean" : "median"),
            own < Errors::size(one.first_baseline, mean) && own < Errors::size(one.second_baseline, mean));
    }
    check(fmt::format("{}: at least 85 % covered", name), one.covered >= 0.85 * static_cast<double>(one.own.size()));
  }
  check("together: median at most 10 %", Errors::size(all.at("together").own, false) <= 0.1);
  return met ? 0 : 1;
}
