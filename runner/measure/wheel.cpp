#include "runner/measure/wheel.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "runner/measure/error.hpp"

namespace ddpprof::measure {
namespace {

namespace fs = std::filesystem;

using TorchVersion = std::array<int, 3>;

// Reads "2.11.0", "2.11.0+cu130" or "2.11.0a0": the numbers at its start. Returns zeros if there are none.
TorchVersion torch_version(const std::string& text) {
  TorchVersion numbers{};
  std::sscanf(text.c_str(), "%d.%d.%d", &numbers[0], &numbers[1], &numbers[2]);
  return numbers;
}

struct BuiltWorker {
  TorchVersion torch{};
  fs::path file;
  std::string short_version() const { return std::to_string(torch[0]) + "." + std::to_string(torch[1]); }
  std::string version() const { return short_version() + "." + std::to_string(torch[2]); }
};

// The workers in a folder of the wheel, by ascending version of torch.
std::vector<BuiltWorker> built_workers(const fs::path& folder) {
  constexpr std::string_view prefix = "torch-";
  std::vector<BuiltWorker> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const fs::path file = entry.path() / "ddpprof-worker";
    if (name.starts_with(prefix) && fs::exists(file, error))
      found.push_back({torch_version(name.substr(prefix.size())), file});
  }
  std::ranges::sort(found, {}, &BuiltWorker::torch);
  return found;
}

// "2.10, 2.11 or 2.12"
std::string versions_with_a_worker(const std::vector<BuiltWorker>& workers) {
  std::string text;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (i > 0) text += i + 1 == workers.size() ? " or " : ", ";
    text += workers[i].short_version();
  }
  return text;
}

// Returns the version in torch/version.py, for example "2.11.0+cu130"; empty without torch.
std::string installed_torch(const fs::path& torch) {
  constexpr std::string_view name = "__version__ = '";
  std::ifstream file(torch / "version.py");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name)) return line.substr(name.size(), line.find('\'', name.size()) - name.size());
  return "";
}

// Returns the worker for `torch`, a folder. Throws MissingProgram if there is none. `workers` is not empty.
fs::path fitting_worker(const std::vector<BuiltWorker>& workers, const fs::path& torch) {
  const std::string found = installed_torch(torch);
  const TorchVersion version = torch_version(found);
  const auto fitting = std::ranges::find_if(workers, [&](const BuiltWorker& worker) {
    return worker.torch[0] == version[0] && worker.torch[1] == version[1];
  });
  if (found.empty() || fitting == workers.end())
    throw MissingProgram("ddpprof-worker needs torch " + versions_with_a_worker(workers) +
                             ", and this environment has " + (found.empty() ? "no torch" : "torch " + found),
                         torch.string(),
                         "pip install torch==" + workers.back().version() +
                             " into this environment; to measure your own training with another torch, use "
                             "'ddpprof run --workers 1,2 -- COMMAND' or 'ddpprof record -- COMMAND'");
  std::error_code error;
  if (!fs::exists(torch / "lib" / "libtorch_cuda.so", error))
    throw MissingProgram("ddpprof-worker needs a torch with CUDA libraries, and torch " + found + " has none",
                         (torch / "lib" / "libtorch_cuda.so").string(),
                         "install torch " + fitting->version() + " from PyPI; it also runs without a GPU");
  return fitting->file;
}

}  // namespace

std::vector<fs::path> worker_folders_of_wheel(const fs::path& program_folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& library : fs::directory_iterator(program_folder.parent_path() / "lib", error)) {
    if (!library.path().filename().string().starts_with("python3.")) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      const fs::path folder = library.path() / packages / "ddpprof" / "bin";
      if (fs::is_directory(folder, error)) found.push_back(folder);
    }
  }
  std::ranges::sort(found);
  return found;
}

fs::path worker_of_wheel(const std::vector<fs::path>& folders) {
  std::optional<MissingProgram> first_refusal;
  std::string searched;
  for (const fs::path& folder : folders) {
    searched += (searched.empty() ? "" : ", ") + folder.string();
    const std::vector<BuiltWorker> workers = built_workers(folder);
    if (workers.empty()) continue;
    try {
      return fitting_worker(workers, folder.parent_path().parent_path() / "torch");
    } catch (const MissingProgram& refusal) {
      if (!first_refusal) first_refusal = refusal;
    }
  }
  if (first_refusal) throw *first_refusal;
  throw MissingProgram("ddpprof-worker not found", searched,
                       "install the wheel again, or name it in DDPPROF_WORKER_PROGRAM");
}

}  // namespace ddpprof::measure
