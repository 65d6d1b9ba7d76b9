#include "runner/scenario/data_files.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <system_error>

namespace ddpprof::scenario {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// Returns the file "train-images" + "idx3-ubyte" in one of its usual spellings, or nullopt.
std::optional<fs::path> find_idx(const fs::path& folder, const std::string& stem, const std::string& suffix) {
  for (const char* between : {"-", "."})
    for (const char* packed : {"", ".gz"})
      if (const fs::path path = folder / (stem + between + suffix + packed); is_file(path)) return path;
  return std::nullopt;
}

DataFiles find_mnist(const Data& data) {
  const std::string prefix = data.split == DataSplit::train ? "train" : "t10k";
  const fs::path folder(data.path);
  for (const fs::path& place : {folder, folder / "raw", folder / "MNIST" / "raw"}) {
    const auto images = find_idx(place, prefix + "-images", "idx3-ubyte");
    const auto labels = find_idx(place, prefix + "-labels", "idx1-ubyte");
    if (images && labels) return {{*images}, *labels};
    if (images || labels)
      throw DataError(fmt::format("workload.data.path: {} has {} but no {}-{}-ubyte[.gz] beside it", place.string(),
                                  (images ? images : labels)->filename().string(), prefix,
                                  images ? "labels-idx1" : "images-idx3"));
  }
  throw DataError(
      fmt::format("workload.data.path: {} has no MNIST files; expected {}-images-idx3-ubyte and "
                  "{}-labels-idx1-ubyte, plain or with .gz, in this folder, in raw/ or in MNIST/raw/",
                  data.path, prefix, prefix));
}

DataFiles find_tensors(const Data& data) {
  const fs::path folder(data.path);
  DataFiles files;
  files.targets = folder / "targets.pt";
  if (is_file(folder / "inputs.pt")) files.inputs.push_back(folder / "inputs.pt");
  const bool numbered = is_file(folder / "inputs0.pt");
  if (numbered && !files.inputs.empty())
    throw DataError(
        fmt::format("workload.data.path: {} has both inputs.pt and inputs0.pt; expected one input in "
                    "inputs.pt, or several in inputs0.pt, inputs1.pt, …",
                    data.path));
  for (std::size_t i = 0; numbered; ++i) {
    const fs::path path = folder / fmt::format("inputs{}.pt", i);
    if (!is_file(path)) break;
    files.inputs.push_back(path);
  }
  const char* missing = files.inputs.empty() ? "inputs.pt (nor inputs0.pt)" : "targets.pt";
  if (files.inputs.empty() || !is_file(files.targets))
    throw DataError(
        fmt::format("workload.data.path: {} has no {}; expected tensors that Python wrote with "
                    "torch.save(tensor, \"{}\"), samples in the first dimension",
                    data.path, missing, files.inputs.empty() ? "inputs.pt" : "targets.pt"));
  return files;
}

}  // namespace

std::uintmax_t DataFiles::bytes() const {
  std::uintmax_t sum = 0;
  std::error_code error;
  const auto add = [&](const fs::path& path) {
    const std::uintmax_t size = fs::file_size(path, error);
    if (!error) sum += size;
  };
  for (const fs::path& path : inputs) add(path);
  if (!targets.empty()) add(targets);
  return sum;
}

DataFiles find_data_files(const Data& data) {
  if (data.source == DataSource::synthetic) return {};
  std::error_code error;
  const fs::file_status status = fs::status(data.path, error);
  if (!fs::exists(status))
    throw DataError(
        fmt::format("workload.data.path: {}: no such folder (relative to {}); expected the folder with the {} "
                    "files",
                    data.path, fs::current_path(error).string(), to_string(data.source)));
  if (!fs::is_directory(status))
    throw DataError(fmt::format("workload.data.path: {} is not a folder; expected the folder with the {} files",
                                data.path, to_string(data.source)));
  return data.source == DataSource::mnist ? find_mnist(data) : find_tensors(data);
}

}  // namespace ddpprof::scenario
