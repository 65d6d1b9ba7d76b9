// Finds the training worker in an installation of the wheel, and checks the torch that it will load.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ddpprof::measure {

// The folders in which the wheel may have installed the worker, for a program in `program_folder`: one per version of
// Python, site-packages/ddpprof/bin.
std::vector<std::filesystem::path> worker_folders_of_wheel(const std::filesystem::path& program_folder);

// Checks that `torch`, a folder, has the version that the worker was built for, for example "2.11", and its CUDA
// libraries, which the worker links. Throws MissingProgram, with the version that is needed.
void require_torch(const std::filesystem::path& torch, const std::string& version);

}  // namespace ddpprof::measure
