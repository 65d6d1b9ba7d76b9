#include "analysis/import/load/shared_facts.hpp"

#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace ddpprof::import {
namespace {

constexpr const char* cores_assumed = "id IN (SELECT measurement_id FROM diagnostic WHERE code = 'cores_unknown')";

std::string name_of_file(const std::filesystem::path& file) {
  std::string name = file.filename().string();
  for (const std::string_view end : {".gz", ".zst", ".json", ".pt.trace", ".sqlite"})
    if (name.ends_with(end)) name.resize(name.size() - end.size());
  if (const std::size_t rank = name.rfind("rank"); rank != std::string::npos && rank > 1) {
    name.resize(rank);
    while (!name.empty() && (name.back() == '_' || name.back() == '-' || name.back() == '.')) name.pop_back();
  }
  return name.empty() ? "imported" : name;
}

// Returns true for a file's name that has a rank and no model: "rank0", "rank_3".
bool names_only_a_rank(std::string_view name) {
  if (!name.starts_with("rank")) return false;
  name.remove_prefix(4);
  return name.find_first_not_of("0123456789_-.") == std::string_view::npos;
}

// The bytes of a model's gradients (0: unknown) and its name.
using KnownModels = std::vector<std::pair<std::int64_t, std::string>>;

// Returns the bytes of the model's gradients; 0 if they are unknown or the ranks hold different parts.
std::int64_t gradients_of(const ReadRank& first) {
  if (first.training.parallelism != Parallelism::data) return 0;
  return first.job && first.job->parameter_bytes > 0 ? first.job->parameter_bytes : first.training.parameter_bytes;
}

// `usual` is the name of the first model.
std::string name_of_model(std::int64_t bytes, const KnownModels& known, const std::string& usual) {
  if (known.empty()) return usual;
  const auto same = std::ranges::find(known, bytes, &KnownModels::value_type::first);
  if (same != known.end()) return same->second;
  std::set<std::string> names;
  bool sized = false;
  for (const auto& [other_bytes, name] : known) {
    names.insert(name);
    sized = sized || other_bytes > 0;
  }
  // Without sizes nothing contradicts that these are the same model.
  if (names.size() == 1 && (bytes == 0 || !sized)) return *names.begin();
  return bytes == 0 ? usual + " (gradients of unknown size)" : fmt::format("{} ({} bytes of gradients)", usual, bytes);
}

}  // namespace

bool used_device(const ReadRank& rank) {
  const Training& training = rank.training;
  return training.on_device || training.device_not_recorded || training.shard.nccl_channel_times > 0;
}

SharedFacts::SharedFacts(store::Database& database, const ImportOptions& options, std::span<const JobOutline> jobs) {
  KnownModels models;
  std::set<std::int64_t> cores;
  SQLite::Statement earlier(database.sql(),
                            fmt::format("SELECT parameter_bytes, model, backend, device, cores, {} FROM measurement "
                                        "WHERE kind = 'import' ORDER BY id",
                                        cores_assumed));
  while (earlier.executeStep()) {
    models.emplace_back(earlier.getColumn(0).getInt64(), earlier.getColumn(1).getString());
    const bool device = earlier.getColumn(3).getString() == "cuda";
    backends_.try_emplace(device, earlier.getColumn(2).getString());
    if (device) continue;
    if (earlier.getColumn(5).getInt() != 0)
      most_ranks_per_host_ = std::max(most_ranks_per_host_, earlier.getColumn(4).getInt64());
    else
      cores.insert(earlier.getColumn(4).getInt64());
  }
  given_cores_ = options.cores;
  for (const JobOutline& job : jobs)
    if (job.first->job && job.first->job->cores > 0 && !used_device(*job.first)) cores.insert(job.first->job->cores);
  if (cores.size() == 1) other_cores_ = *cores.begin();
  const std::string of_file = name_of_file(jobs.front().first->file);
  const bool unnamed = jobs.size() > 1 || names_only_a_rank(of_file);
  const std::string usual = !models.empty()                                ? models.front().second
                            : unnamed && !options.model_of_several.empty() ? options.model_of_several
                                                                           : of_file;
  for (const JobOutline& job : jobs) {
    const ReadRank& first = *job.first;
    names_.push_back(options.model.empty() ? name_of_model(gradients_of(first), models, usual) : options.model);
    models.emplace_back(gradients_of(first), names_.back());
    if (!first.backend.empty()) backends_.try_emplace(used_device(first), first.backend);
    if (!used_device(first))
      most_ranks_per_host_ = std::max(most_ranks_per_host_, (job.world_size - 1) / job.hosts + 1);
  }
}

std::string SharedFacts::backend_of(const ReadRank& first) const {
  if (!first.backend.empty()) return first.backend;
  const auto other = backends_.find(used_device(first));
  return other != backends_.end() ? other->second : used_device(first) ? "nccl" : "gloo";
}

SharedFacts::Cores SharedFacts::cores_of(const ReadRank& first) const {
  if (given_cores_) return {*given_cores_, false};
  if (first.job && first.job->cores > 0) return {first.job->cores, false};
  if (other_cores_) return {*other_cores_, false};
  return {most_ranks_per_host_, true};
}

void SharedFacts::update_earlier(store::Database& database) const {
  const std::string earlier = fmt::format("kind = 'import' AND device = 'cpu' AND {}", cores_assumed);
  const std::optional<std::int64_t> known = given_cores_ ? given_cores_ : other_cores_;
  database.sql().exec(
      fmt::format("UPDATE measurement SET cores = {} WHERE {}", known.value_or(most_ranks_per_host_), earlier));
  if (!known) return;
  database.sql().exec(
      fmt::format("UPDATE measurement SET oversubscription = CAST(((world_size - 1) / nodes + 1) * threads_per_rank AS "
                  "REAL) / cores WHERE {}; "
                  "DELETE FROM diagnostic WHERE code = 'cores_unknown'",
                  earlier));
}

}  // namespace ddpprof::import
