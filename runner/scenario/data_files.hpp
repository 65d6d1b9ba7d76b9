// Finds the files that a scenario's data comes from, or says which are missing. Reads none of them.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <vector>

#include "runner/scenario/scenario.hpp"

namespace ddpprof::scenario {

// The scenario's data cannot be what it says: a file is missing, damaged, or does not fit the model (exit code 2).
struct DataError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct DataFiles {
  std::vector<std::filesystem::path> inputs;  // in order
  std::filesystem::path targets;

  std::uintmax_t bytes() const;  // of all, as they lie on the disk; 0 for synthetic data
};

// mnist: looks in `path`, `path`/raw and `path`/MNIST/raw (torchvision's layout) for the two files of the split, named
// with '-' or '.' before "idx", plain or with ".gz". tensors: inputs.pt, or inputs0.pt, inputs1.pt, … without a gap.
// Throws DataError that names what was looked for.
DataFiles find_data_files(const Data& data);

}  // namespace ddpprof::scenario
