#include "runner/scenario/input_files.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace ddpprof::scenario {
namespace {

void check_file(std::string_view key, const std::string& path, std::string_view expected) {
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error)) return;
  const bool exists = std::filesystem::exists(path, error);
  throw DataError(fmt::format("{}: {}: {} (relative to {}); expected {}", key, path,
                              exists ? "not a file" : "no such file", std::filesystem::current_path(error).string(),
                              expected));
}

}  // namespace

void check_input_files(const Scenario& scenario) {
  const Model& model = scenario.workload.model;
  if (model.kind == Model::Kind::torchscript)
    check_file("workload.model.file", model.file, "a file that torch.jit.script(model).save(...) wrote");
  find_data_files(scenario.workload.data);
  if (!scenario.checkpoint.resume.empty())
    check_file("checkpoint.resume", scenario.checkpoint.resume,
               "a file that an earlier run wrote into checkpoint.folder");
}

}  // namespace ddpprof::scenario
