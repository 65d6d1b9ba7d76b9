#include "runner/measure/wheel.hpp"

#include <algorithm>
#include <fstream>
#include <system_error>

#include "runner/measure/error.hpp"

namespace ddpprof::measure {
namespace {

namespace fs = std::filesystem;

// Returns the version in torch/version.py, for example "2.11.0+cu130"; empty without torch.
std::string installed_torch(const fs::path& torch) {
  constexpr std::string_view name = "__version__ = '";
  std::ifstream file(torch / "version.py");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name)) return line.substr(name.size(), line.find('\'', name.size()) - name.size());
  return "";
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

void require_torch(const fs::path& torch, const std::string& version) {
  const std::string found = installed_torch(torch);
  const std::string remedy = "pip install torch==" + version +
                             ".0 into this environment; to measure your own training with another torch, use "
                             "'ddpprof run --workers 1,2 -- COMMAND' or 'ddpprof record -- COMMAND'";
  if (found.empty())
    throw MissingProgram("the training worker needs torch " + version + ", and this environment has no torch",
                         torch.string(), remedy);
  if (!found.starts_with(version + "."))
    throw MissingProgram("the training worker needs torch " + version + ", and this environment has torch " + found,
                         torch.string(), remedy);
  std::error_code error;
  if (!fs::exists(torch / "lib" / "libtorch_cuda.so", error))
    throw MissingProgram("the training worker needs a torch with CUDA libraries, and torch " + found + " has none",
                         (torch / "lib" / "libtorch_cuda.so").string(),
                         "install torch " + version + " from PyPI; it also runs without a GPU");
}

}  // namespace ddpprof::measure
