// The question of the page Scaling about a sharded training (FSDP), and its answer: the tables that `ddpprof predict`
// prints for the same question.
//
// All functions require OpenedFile::sharded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gui/models/opened_file.hpp"
#include "gui/models/scaling/snapshot.hpp"
#include "gui/models/selection.hpp"

namespace ddpprof::gui::whatif {

struct ShardedQuestion {
  std::int64_t workers = 8;                                      // the largest N to predict
  std::int64_t gpus_per_node = 0;                                // fit::PredictOptions::gpus_per_node
  std::vector<std::filesystem::path> gather_logs, scatter_logs;  // of nccl-tests: --all-gather, --reduce-scatter
  std::vector<std::string> changes;                              // KEY=VALUE of predict --what-if
  bool operator==(const ShardedQuestion&) const = default;
};

struct ShardedAnswer {
  report::Table predictions, levers, what_if, memory, notes;  // levers: the usual changes at the chosen N
  std::vector<Sentence> sentences;         // about the chosen N
  std::optional<PredictionChoice> choice;  // for the other pages; empty: the file's own predictions
};

// Returns the question of the file's own predictions.
ShardedQuestion first_question(const OpenedFile&);

// Returns the predicted N: those of the file and powers of two beyond, up to `workers`, and `workers`. Ascending.
std::vector<std::int64_t> sharded_counts(const OpenedFile&, std::int64_t workers);

// Adds a log of all_gather_perf or reduce_scatter_perf of nccl-tests. Returns why it cannot be used; empty if it can.
std::string add_log(ShardedQuestion&, const std::filesystem::path&);

// The question as a shell command: "ddpprof predict job.db --workers 1,2,4,8 --what-if replicate=2".
std::string command_line(const OpenedFile&, const ShardedQuestion&);

// Reads the file again. Throws as fit::predict_all and OpenedFile::check_unchanged do, and fit::NcclTestsError. If no N
// can be predicted, a sentence has the reason.
ShardedAnswer answer(const OpenedFile&, const ShardedQuestion&);

}  // namespace ddpprof::gui::whatif
