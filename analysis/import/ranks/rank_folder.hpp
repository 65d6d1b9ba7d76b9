// The folder that ranks started by somebody else leave their results in: each writes its own files, nobody else's.
//
//   DIR/made-by-ddpprof-worker        marks the folder as ours
//   DIR/attempt-<k>/rank-<r>.json     what the rank was started as; k: how often torchrun has started it anew, else 0
//   DIR/attempt-<k>/scenario-<r>.yaml what it trains, every default filled in
//   DIR/attempt-<k>/run-<r>.json      the run's name, once every rank had come
//   DIR/attempt-<k>/result-<r>.json   what it found; missing when it did not get to its end
//   DIR/attempt-<k>/trace/            its shard
//   DIR/attempt-<k>/twice-<pid>/      a second process that was given a rank which runs already; never imported
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "runner/launcher/rank_files.hpp"
#include "runner/launcher/start.hpp"

namespace ddpprof::ranks {

using launcher::rank_files;
using launcher::RankFiles;

std::string meeting_place(const launcher::Start& start);  // where its ranks find each other; equal on all of them

// Makes the folder and this rank's place in it. What an earlier run left of this rank, or of ranks that this run does
// not have, is refused, or removed with `overwrite`, but what `agent` (launcher::torchrun_agent) has started before
// stays: this rank gets an attempt of its own. Where a process of this host is that very rank of the same meeting now,
// its files stay and this one gets a place beside them: the roll-call tells both. `gathers`: the other ranks' files are
// to come into this folder, too; those of ranks that left a result are then refused as well, and with `overwrite` left
// until the new ones have come. Throws Failure: usage when the folder is not ours or holds an earlier run, failed when
// the file system refuses.
RankFiles claim_rank_files(const std::filesystem::path& folder, const launcher::Start& start, const std::string& agent,
                           bool overwrite, bool gathers = false);

// One rank as its files tell.
struct RankRecord {
  std::filesystem::path folder;  // as given
  int attempt = 0;
  int rank = 0;
  nlohmann::json start;
  std::string scenario;                  // YAML
  std::string run;                       // "" when the ranks never came together
  std::optional<nlohmann::json> result;  // none: it did not get to its end
  std::vector<std::filesystem::path> shards;
  std::string start_text, result_text;  // as they were read: "" without a result

  std::int64_t world_size() const { return start.value("world_size", std::int64_t{0}); }
  std::string place() const;  // "rank 1 (process 71 on gpu03)"
};

// Whether `ddpprof worker` made the folder.
bool is_rank_folder(const std::filesystem::path& folder);

// Every rank of the run in the folder that was started last; `older` counts the attempts left out. Throws Failure:
// usage when it is no such folder, data when a file in it cannot be read or holds what no rank writes.
std::vector<RankRecord> read_rank_records(const std::filesystem::path& folder, int& older);

}  // namespace ddpprof::ranks
