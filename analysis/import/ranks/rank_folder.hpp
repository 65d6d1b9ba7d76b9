// The folder into which ranks of `ddpprof worker` write their results. Each rank writes its own files only.
//
//   DIR/made-by-ddpprof-worker        marks the folder as one of ddpprof
//   DIR/attempt-<k>/rank-<r>.json     how the rank was started; k: number of its restarts by torchrun, else 0
//   DIR/attempt-<k>/scenario-<r>.yaml its scenario, every default filled in
//   DIR/attempt-<k>/run-<r>.json      the run's name, written after every rank has joined
//   DIR/attempt-<k>/result-<r>.json   its results; missing if it did not reach its end
//   DIR/attempt-<k>/trace/            its shard
//   DIR/attempt-<k>/twice-<pid>/      a second process with the same rank; never imported
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

std::string meeting_place(const launcher::Start& start);  // address, port and run id; equal on all ranks of a run

// Makes the folder and this rank's files in it. The folder may hold files of this rank, or of ranks that this run does
// not have:
// - `agent` (launcher::torchrun_agent) started them before: they stay, and this rank gets a new attempt.
// - A process of this host is the same rank at the same meeting place now: they stay, this rank gets a folder beside
//   them, and the rendezvous reports both.
// - Otherwise they belong to an earlier run: removed with `overwrite`, else UnusableFolder.
// `gathers`: the files of the other ranks are sent into this folder. Then results of other ranks are an earlier run
// too; with `overwrite` they stay until the new files arrive. Throws UnusableFolder also if the folder was not made by
// ddpprof, CannotWrite if the file system refuses.
RankFiles claim_rank_files(const std::filesystem::path& folder, const launcher::Start& start, const std::string& agent,
                           bool overwrite, bool gathers = false);

// One rank, read from its files.
struct RankRecord {
  std::filesystem::path folder;  // as the user named it
  int attempt = 0;
  int rank = 0;
  nlohmann::json start;
  std::string scenario;                  // YAML
  std::string run;                       // "" if the ranks never met
  std::optional<nlohmann::json> result;  // nullopt: it did not reach its end
  std::vector<std::filesystem::path> shards;
  std::string start_text, result_text;  // the files' texts; "" without a result

  std::int64_t world_size() const { return start.value("world_size", std::int64_t{0}); }
  std::string place() const;  // "rank 1 (process 71 on gpu03)"
};

// Returns true if `ddpprof worker` made the folder.
bool is_rank_folder(const std::filesystem::path& folder);

// Returns every rank of the run that was started last; `older` counts the attempts that are left out. Throws
// UnusableFolder if `ddpprof worker` did not make the folder, InvalidRecords if a file in it is unreadable or invalid.
std::vector<RankRecord> read_rank_records(const std::filesystem::path& folder, int& older);

}  // namespace ddpprof::ranks
