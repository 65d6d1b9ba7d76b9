// Copies each rank's files to rank 0 through a key-value store that all ranks can reach, for hosts without a shared
// folder.
//
// Rank 0 requests one piece at a time, so that both sides and the store never hold more than one piece. A rank offers
// kinds and sizes of files, never names: rank 0 makes the names from the rank's number. Rank 0 either receives all
// files of a rank or keeps none of them.
//
// Keys below "gather/": "progress" changes while rank 0 works; "over" ends the transfer; "<r>/offer" is what rank r
// offers; "<r>/next/<k>" is rank 0's answer before piece k: "send", "done" or "stop: why"; "<r>/piece/<k>"; "<r>/left"
// is set when rank r has finished.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/launcher/exchange/token.hpp"
#include "runner/launcher/rank_files.hpp"

namespace ddpprof::launcher {

class Mailbox {
 public:
  virtual ~Mailbox() = default;
  virtual void put(const std::string& key, const std::string& value) = 0;
  // Returns the value of the key, or nullopt if it is not set within `limit`. Throws if the store cannot be reached.
  virtual std::optional<std::string> wait(const std::string& key, std::chrono::milliseconds limit) = 0;
  virtual void remove(const std::string& key) = 0;
};

struct GatherJob {
  std::filesystem::path folder;  // DIR/attempt-<k> of this rank
  int rank = 0, world_size = 1;
  bool overwrite = false;                      // rank 0: replace files of a rank from an earlier run
  std::string run;                             // the run's name
  const Token* token = nullptr;                // authenticates the pieces; nullptr: a checksum only
  std::chrono::milliseconds patience{60'000};  // for one piece, or for a change of "progress"
};

struct Gathered {
  int came = 0;                   // ranks whose files were copied
  int here = 0;                   // ranks whose files were in rank 0's folder already (a shared folder)
  std::uint64_t bytes = 0;        // copied
  std::vector<std::string> lost;  // "rank 2: why" for each rank whose files were not copied
};

// For rank 0. Waits at most `patience` without progress for each rank. Throws what the mailbox throws.
Gathered fetch_files(Mailbox& mailbox, const GatherJob& job);

// For the other ranks. Returns after rank 0 has ended the transfer: "", or the reason why this rank's files were not
// copied. Throws what the mailbox throws.
std::string send_files(Mailbox& mailbox, const GatherJob& job);

// ---- shared by both sides

inline constexpr std::size_t piece_bytes = 4u << 20;  // c10d's store takes values of up to 8 MiB

enum class FileKind { start, scenario, run, result, shard };
inline constexpr const char* kind_names[] = {"start", "scenario", "run", "result", "shard"};

// Returns the seal that precedes a piece. It covers the piece, its number and its sender: a SHA-256, or with a token an
// HMAC, which also shows that a rank of this run sent it.
std::string seal_of(const GatherJob& job, int sender, std::int64_t number, std::string_view piece);
inline constexpr std::size_t seal_digits = 64;

std::string gather_key(int rank, const char* what);
std::string gather_key(int rank, const char* what, std::int64_t number);

}  // namespace ddpprof::launcher
