#include "analysis/import/ranks/rank_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <utility>

#include "analysis/import/ranks/result_facts.hpp"

namespace ddpprof::ranks {

RankResults read_rank_results(const std::filesystem::path& folder, std::int64_t processes, bool trained) {
  RankResults results;
  for (std::int64_t rank = 0; rank < processes; ++rank) {
    const std::filesystem::path path = folder / fmt::format("result-{}.json", rank);
    std::ifstream file(path);
    if (!file) continue;
    try {
      nlohmann::json result = nlohmann::json::parse(file);
      if (const std::optional<WrongFact> wrong = wrong_fact(result, trained))
        results.problems.push_back(
            fmt::format("{}: {} (expected {})", path.filename().string(), wrong->found, wrong->expected));
      else
        results.by_rank.emplace(rank, std::move(result));
    } catch (const nlohmann::json::exception& error) {
      results.problems.push_back(fmt::format("{}: {}", path.filename().string(), error.what()));
    }
  }
  return results;
}

void describe(const RankResults& results, store::MeasurementRow& row) {
  if (results.by_rank.empty()) return;
  const nlohmann::json& first = results.by_rank.begin()->second;
  row.parameter_count = first.value("parameter_count", row.parameter_count);
  row.parameter_bytes = first.value("parameter_bytes", row.parameter_bytes);
  nlohmann::json versions;
  versions["ddpprof"] = first.value("program_version", "");
  versions["torch"] = first.value("torch_version", "");
  versions["cuda"] = first.value("cuda_version", "");
  versions["compiler"] = fmt::format("g++ {}", __VERSION__);
  row.versions = versions.dump();
  if (first.contains("data_samples")) {
    nlohmann::json options = nlohmann::json::parse(row.options, nullptr, /*allow_exceptions=*/false);
    if (options.is_object()) {
      options["samples"] = first["data_samples"];
      if (const auto checkpoint = first.find("checkpoint"); checkpoint != first.end() && checkpoint->is_object()) {
        // The step of the schedule, if there is one: a checkpoint of another batch is at another step of it.
        const auto resumed = checkpoint->value("resumed_step", std::int64_t{0});
        if (const auto step = checkpoint->value("schedule_step", resumed);
            step > 0 || !checkpoint->value("resumed", "").empty())
          options["resumed_step"] = step;
        if (const auto adascale = checkpoint->find("adascale"); adascale != checkpoint->end())
          options["adascale"] = *adascale;
      }
      row.options = options.dump();
    }
  }
  std::set<std::string> hosts, pools;
  for (const auto& [rank, result] : results.by_rank) {
    hosts.insert(result.value("host", ""));
    pools.insert(result.value("pool", result.value("host", "")));
  }
  row.nodes = static_cast<std::int64_t>(hosts.size());
  row.machines = static_cast<std::int64_t>(pools.size());
}

std::vector<store::DiagnosticRow> rank_warnings(const RankResults& results) {
  std::vector<store::DiagnosticRow> rows;
  for (const auto& [rank, result] : results.by_rank) {
    for (const nlohmann::json& warning : result.value("warnings", nlohmann::json::array())) {
      store::DiagnosticRow row;
      row.severity = "warning";
      row.code = warning.value("code", "");
      row.message = warning.value("message", "");
      row.advice = warning.value("advice", "");
      row.count = 1;
      const auto same = std::find_if(rows.begin(), rows.end(), [&](const store::DiagnosticRow& other) {
        return other.code == row.code && other.message == row.message;
      });
      if (same != rows.end())
        ++same->count;
      else
        rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::vector<store::MemoryRow> memory_rows(const RankResults& results) {
  std::vector<store::MemoryRow> rows;
  for (const auto& [rank, result] : results.by_rank) {
    if (result.contains("peak_rss_bytes"))
      rows.push_back(
          {0, rank, store::MemoryRow::whole_process, std::nullopt, result.value("peak_rss_bytes", std::int64_t{0})});
    for (const nlohmann::json& device : result.value("memory", nlohmann::json::array()))
      rows.push_back({0, rank, device.value("device", std::int64_t{0}), device.value("held_bytes", std::int64_t{0}),
                      device.value("peak_bytes", std::int64_t{0})});
  }
  return rows;
}

std::vector<store::DiagnosticRow> check_parameters(const RankResults& results) {
  std::map<std::string, std::vector<std::int64_t>> ranks_by_hash;
  for (const auto& [rank, result] : results.by_rank) {
    const std::string hash = result.value("parameter_hash", "");
    if (!hash.empty()) ranks_by_hash[hash].push_back(rank);
  }
  if (ranks_by_hash.size() < 2) return {};
  std::string message = "the ranks' parameters differ after training:";
  for (const auto& [hash, ranks] : ranks_by_hash) message += fmt::format(" {} on {} rank(s)", hash, ranks.size());
  store::DiagnosticRow row;
  row.severity = "error";
  row.code = "parameters_differ";
  row.count = static_cast<std::int64_t>(ranks_by_hash.size());
  row.message = message;
  row.advice = "discard this measurement: the ranks did not train the same model";
  return {row};
}

std::vector<store::DiagnosticRow> check_warmup(const RankResults& results) {
  if (results.by_rank.empty()) return {};
  const auto warmup = results.by_rank.begin()->second.find("warmup");  // equal on all ranks: rank 0 decides
  if (warmup == results.by_rank.begin()->second.end() || warmup->value("settled", true)) return {};
  store::DiagnosticRow row;
  row.severity = "warning";
  row.code = "warmup_unsettled";
  row.message = fmt::format("step times still changed after {} warm-up steps, the limit of 'auto'",
                            warmup->value("steps", std::int64_t{0}));
  row.advice =
      "the measured steps may drift (the report conditions shows by how much): set measure.warmup_steps to a number, "
      "or stop other programs (ddpprof doctor names them)";
  return {row};
}

}  // namespace ddpprof::ranks
