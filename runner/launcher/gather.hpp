// Brings each rank's files to rank 0 through what all ranks can write to and read from, where they share no folder.
//
// Rank 0 asks for one piece after another, so that neither side nor the mailbox ever holds more than one. A rank offers
// kinds and sizes, never names: rank 0 makes those from the rank's number. A rank's files are there whole, or not at
// all.
//
// Keys, below "gather/": "progress" changes as long as rank 0 goes on, "over" ends it all; "<r>/offer"; "<r>/next/<k>"
// is rank 0's word before piece k: "send", "done" or "stop: why"; "<r>/piece/<k>"; "<r>/left".
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/launcher/rank_files.hpp"
#include "runner/launcher/token.hpp"

namespace ddpprof::launcher {

class Mailbox {
 public:
  virtual ~Mailbox() = default;
  virtual void put(const std::string& key, const std::string& value) = 0;
  // The value once it is there; nullopt when the time is over. Throws when the mailbox itself is gone.
  virtual std::optional<std::string> wait(const std::string& key, std::chrono::milliseconds limit) = 0;
  virtual void remove(const std::string& key) = 0;
};

struct GatherJob {
  std::filesystem::path folder;  // this rank's DIR/attempt-<k>
  int rank = 0, world_size = 1;
  bool overwrite = false;                      // rank 0: what an earlier run left of a rank may go when its files came
  std::string run;                             // the run's name
  const Token* token = nullptr;                // pieces are proved with it; nullptr: checked only
  std::chrono::milliseconds patience{60'000};  // for one piece, or a sign that rank 0 goes on
};

struct Gathered {
  int came = 0;                   // ranks whose files came
  int here = 0;                   // ranks whose files were in rank 0's folder already: it is a shared one
  std::uint64_t bytes = 0;        // that came
  std::vector<std::string> lost;  // "rank 2: why", for each whose files did not come
};

// Rank 0. Ends after at most `patience` without any progress for each rank. Throws what the mailbox throws.
Gathered fetch_files(Mailbox& mailbox, const GatherJob& job);

// The other ranks. Returns when rank 0 has ended the gathering, with "" or why this rank's files stayed where they are.
// Throws what the mailbox throws.
std::string send_files(Mailbox& mailbox, const GatherJob& job);

// ---- what both sides hold to

inline constexpr std::size_t piece_bytes = 4u << 20;  // c10d's store takes values of up to 8 MiB

enum class FileKind { start, scenario, run, result, shard };
inline constexpr const char* kind_names[] = {"start", "scenario", "run", "result", "shard"};

// Before a piece: what shows that it is whole, at its place, and with a token that a rank of this run sent it.
std::string seal_of(const GatherJob& job, int sender, std::int64_t number, std::string_view piece);
inline constexpr std::size_t seal_digits = 64;

std::string gather_key(int rank, const char* what);
std::string gather_key(int rank, const char* what, std::int64_t number);

}  // namespace ddpprof::launcher
