// Finds the files of a scenario's data, without reading them.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <vector>

#include "runner/scenario/scenario.hpp"

namespace ddpprof::scenario {

// The data files do not match the scenario: a file is missing, damaged, or does not fit the model (exit code 2).
struct DataError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct DataFiles {
  std::vector<std::filesystem::path> inputs;  // in order
  std::filesystem::path targets;

  std::uintmax_t bytes() const;  // total size on disk; 0 for synthetic data
};

// Returns the files of the data.
// - mnist: the two files of the split in `path`, `path`/raw or `path`/MNIST/raw (torchvision's layout), with '-' or '.'
//   before "idx", plain or with ".gz".
// - tensors: inputs.pt, or inputs0.pt, inputs1.pt, … without a gap, and targets.pt.
// Throws DataError with the names of the expected files.
DataFiles find_data_files(const Data& data);

}  // namespace ddpprof::scenario
