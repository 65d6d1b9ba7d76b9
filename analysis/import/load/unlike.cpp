#include "analysis/import/load/unlike.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

namespace ddpprof::import {
namespace {

std::string number_of(std::int64_t number, const char* unit) {
  return number > 0 ? fmt::format("{}{}", number, unit) : std::string();
}

// Groups the ranks by the value that `value_of` returns. An empty value means that the file does not record it.
template <class ValueOf>
std::optional<Note> note_on(std::span<const RankOfFile> ranks, const char* of, ValueOf&& value_of) {
  std::map<std::string, std::vector<const RankOfFile*>> groups;
  for (const RankOfFile& rank : ranks)
    if (std::string text = value_of(*rank.file); !text.empty()) groups[std::move(text)].push_back(&rank);
  if (groups.size() < 2) return std::nullopt;
  const auto most = std::max_element(groups.begin(), groups.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  // A group that is not larger than each other one is named, too.
  const bool any_most = std::ranges::count_if(groups, [&](const auto& group) {
                          return group.second.size() == most->second.size();
                        }) == 1;
  std::int64_t others = 0;
  std::string who;
  for (const auto& [text, group] : groups) {
    if (any_most && text == most->first) continue;
    for (const RankOfFile* rank : group)
      if (++others <= 16)
        who += fmt::format("{}rank {} ({}) {}", who.empty() ? "" : ", ", rank->rank,
                           rank->file->file.filename().string(), text);
  }
  if (others > 16) who += fmt::format(" and {} more", others - 16);
  return Note{ingest::Severity::warning, "ranks_unlike", others,
              fmt::format("{}: {}{}", of, any_most ? "most ranks " + most->first + ", but " : "", who),
              "the first rank's values are used; import the files of one run at a time"};
}

}  // namespace

std::vector<Note> notes_on_differences(std::span<const RankOfFile> ranks) {
  std::vector<Note> notes;
  const auto compare = [&](const char* of, auto&& value_of) {
    if (std::optional<Note> note = note_on(ranks, of, value_of)) notes.push_back(std::move(*note));
  };
  compare("devices", [](const ReadRank& file) { return std::string(file.training.on_device ? "GPU" : "CPU"); });
  compare("backends", [](const ReadRank& file) { return file.backend; });
  // Ranks of groups with known replicas have equal parts of a model, unless each group trains another model.
  const bool replicas = std::all_of(ranks.begin(), ranks.end(), [](const RankOfFile& rank) {
    const Training& training = rank.file->training;
    return training.parallelism == Parallelism::data || training.replicas.value_or(0) > 0;
  });
  if (replicas)
    compare("gradients", [](const ReadRank& file) { return number_of(file.training.parameter_bytes, " bytes"); });
  compare("micro-batches of a step", [](const ReadRank& file) {
    return file.training.source == StepSource::none ? std::string() : number_of(file.training.accumulation, "");
  });
  compare("samples of a micro-batch",
          [](const ReadRank& file) { return number_of(file.training.batch_per_worker, ""); });
  if (!notes.empty() && notes.back().message.starts_with("samples of a micro-batch"))
    notes.back().advice = "the mean of the ranks is used for the batch of a step; if the files are of several runs, import "
                          "the files of one run at a time";
  const std::size_t before = notes.size();
  compare("steps", [](const ReadRank& file) { return number_of(file.training.steps, ""); });
  for (std::size_t i = before; i < notes.size(); ++i) {
    notes[i].code = "steps_unlike";
    notes[i].advice =
        "profile the same steps on all ranks: results for the other steps include only the ranks that recorded them";
  }
  return notes;
}

}  // namespace ddpprof::import
