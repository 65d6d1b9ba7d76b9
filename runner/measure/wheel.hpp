// Finds the training worker in an installation of the wheel: the one that was built for the environment's torch.
#pragma once

#include <filesystem>
#include <vector>

namespace ddpprof::measure {

// The folders in which the wheel may have installed workers, for a program in `program_folder`: one per version of
// Python, site-packages/ddpprof/bin.
std::vector<std::filesystem::path> worker_folders_of_wheel(const std::filesystem::path& program_folder);

// Returns the worker for the torch beside it. `folders`: as worker_folders_of_wheel() returns them. A folder has one
// worker per version of torch, for example torch-2.11.0/ddpprof-worker, and loads site-packages/torch. A worker fits if
// the first two numbers of the versions are equal. Throws MissingProgram, with the versions of torch that have a worker,
// if no worker fits, or if the torch has no CUDA libraries, which the worker links.
std::filesystem::path worker_of_wheel(const std::vector<std::filesystem::path>& folders);

}  // namespace ddpprof::measure
