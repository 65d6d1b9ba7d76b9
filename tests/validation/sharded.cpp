// Judges predictions from step tables on jobs with sharded states (FSDP, ZeRO, 3D parallelism). The constants were
// learned from data-parallel tables only, so every series here is held out.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>

#include "analysis/fit/table/step_table.hpp"
#include "simulator/stats/summary.hpp"
#include "tests/validation/data.hpp"
#include "tests/validation/errors.hpp"

namespace {

using namespace ddpprof;
using validation::Errors;

// One job at several numbers of GPUs, with one micro-batch and one number of them in a step.
using Series = std::map<std::int64_t, std::vector<fit::StepRow>>;

std::map<std::string, std::map<std::string, Series>> read_series(const std::filesystem::path& path) {
  std::map<std::string, std::map<std::string, Series>> kinds;
  for (validation::Record& row : validation::read_records(path)) {
    const std::string system = row["system"].substr(0, row["system"].find(" ["));
    if (row["step_time_s"].empty() || row["micro_batch"].empty() || row["accumulation"].empty() || row["nodes"].empty())
      continue;
    std::string key = system;
    for (const char* column : {"model", "framework", "strategy", "tp", "pp", "cp", "ep", "seq_len", "micro_batch",
                               "accumulation", "precision", "recompute"})
      key += ", " + row[column];
    const bool fsdp = row["strategy"].starts_with("fsdp"), zero = row["strategy"].starts_with("zero");
    fit::StepRow step;
    step.workers = std::stoll(row["gpus"]);
    step.nodes = std::stoll(row["nodes"]);
    step.batch_per_worker = static_cast<std::int64_t>(std::stod(row["micro_batch"]));
    step.accumulation = static_cast<std::int64_t>(std::stod(row["accumulation"]));
    step.step_s = std::stod(row["step_time_s"]);
    kinds[fsdp ? "FSDP" : zero ? "ZeRO-3" : "with tensor or pipeline parallelism"][key][step.workers].push_back(step);
  }
  return kinds;
}

}  // namespace

int main() {
  const auto folder = validation::data_folder("sharded");
  if (!folder) return validation::skipped;
  std::map<std::string, Errors> all;
  for (const auto& [kind, series] : read_series(*folder / "sharded.csv"))
    for (const auto& [name, counts] : series) {
      if (counts.size() < 3) continue;
      std::vector<fit::StepRow> rows;
      for (const auto& [workers, same] : counts) rows.push_back(same.front());
      const fit::StepRow asked = rows.back();
      rows.pop_back();
      const fit::StepRow &last = rows.back(), &before = rows[rows.size() - 2];
      const double doublings = std::log(static_cast<double>(asked.workers) / static_cast<double>(last.workers)) /
                               std::log(static_cast<double>(last.workers) / static_cast<double>(before.workers));
      const fit::TablePrediction predicted = fit::StepTable(rows).predict(asked);
      for (Errors* errors : {&all[kind], &all["together"]}) {
        errors->own.push_back(predicted.step_s / asked.step_s - 1.0);
        errors->first_baseline.push_back(last.step_s / asked.step_s - 1.0);
        errors->second_baseline.push_back(
            last.step_s * std::pow(last.step_s / before.step_s, doublings) / asked.step_s - 1.0);
        errors->above += asked.step_s > predicted.high_s;
        errors->below += asked.step_s < predicted.low_s;
        errors->covered += asked.step_s >= predicted.low_s && asked.step_s <= predicted.high_s;
        errors->width += std::log(predicted.high_s / predicted.low_s);
      }
    }
  std::cout
      << "| strategy | series | error | median off by | linear | power law | covered | width | measured above, below "
         "|\n|---|---|---|---|---|---|---|---|---|\n";
  for (const auto& [name, errors] : all) errors.print(name, 3);
  const Errors& one = all.at("together");
  bool met = true;
  const auto check = [&](const std::string& what, bool holds) {
    if (!holds) std::cout << "\nNot met: " << what << '\n';
    met = met && holds;
  };
  for (const bool mean : {false, true}) {
    const double own = Errors::size(one.own, mean);
    check(fmt::format("{} below linear and the power law", mean ? "mean" : "median"),
          own < Errors::size(one.first_baseline, mean) && own < Errors::size(one.second_baseline, mean));
  }
  check("at least 85 % covered", one.covered >= 0.85 * static_cast<double>(one.own.size()));
  return met ? 0 : 1;
}
