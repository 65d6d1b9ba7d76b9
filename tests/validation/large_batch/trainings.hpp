// Trainings of MLPerf at several batches: samples to the target, and the tuned learning rate.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "simulator/learning_rate/samples_to_target.hpp"

namespace ddpprof::validation {

struct Training {
  double batch = 0.0;
  double samples = 0.0;  // epochs, samples or tokens: one unit in a series
  double rate = 0.0;     // tuned learning rate; 0: not in the log
};

// One benchmark with one optimizer in one source, at batches that differ by a tenth or more.
struct TrainingSeries {
  std::string benchmark;            // both DLRMs are one: they are left out together
  std::string optimizer;            // "not stated" if neither the log nor the reference names it
  std::string name;                 // benchmark, source, round, optimizer
  std::vector<Training> trainings;  // ascending in the batch

  std::vector<learning_rate::BatchSamples> samples() const;
};

// large_batch/rcp.csv (for each batch the settings with the fewest samples: the best that the reference found) and
// submissions.csv (for each batch the median of the submitters, who each tuned it). Seeds above twice the median did
// not converge in time and are left out. Series of fewer than three batches are left out.
std::vector<TrainingSeries> read_trainings(const std::filesystem::path& large_batch);

}  // namespace ddpprof::validation
