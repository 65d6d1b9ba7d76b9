#include "runner/job/job_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runner/measure/error.hpp"

namespace ddpprof::job {
namespace {

std::map<std::string, std::string> values_of(const JobRequest& request, const JobRun& run) {
  std::map<std::string, std::string> values = {{"workers", std::to_string(run.workers)},
                                               {"nodes", std::to_string(request.nodes)}};
  if (run.batch) values["batch"] = std::to_string(*run.batch);
  if (!request.learning_rate.empty()) values["lr"] = request.learning_rate;
  if (!request.folder.empty()) values["folder"] = request.folder;
  return values;
}

bool has(const std::vector<std::string>& command, const std::string& placeholder) {
  return std::ranges::any_of(
      command, [&](const std::string& word) { return word.find("{" + placeholder + "}") != std::string::npos; });
}

}  // namespace

std::string JobRun::name() const {
  return batch ? fmt::format("n{}-b{}-r{}", workers, *batch, repeat) : fmt::format("n{}-r{}", workers, repeat);
}

std::vector<JobRun> make_job_plan(const JobRequest& request) {
  const auto refuse_without = [&](const char* placeholder, const char* option, const char* key, bool given) {
    if (given || !has(request.command, placeholder)) return;
    const char* where = request.folder.empty() ? option : key;
    throw measure::InvalidRequest(fmt::format("the command has {{{}}}, and {} is missing", placeholder, where), where,
                                  fmt::format("give {}, or write the number into the command", where));
  };
  refuse_without("batch", "--batches", "measure.batches", !request.batches.empty());
  refuse_without("lr", "--lr", "workload.lr", !request.learning_rate.empty());
  std::vector<JobRun> runs;
  for (std::int64_t repeat = 0; repeat < request.repeats; ++repeat)
    for (const std::int64_t workers : request.workers) {
      if (request.batches.empty()) runs.push_back({workers, std::nullopt, repeat});
      for (const std::int64_t batch : request.batches) runs.push_back({workers, batch, repeat});
    }
  return runs;
}

std::vector<std::string> command_of(const JobRequest& request, const JobRun& run) {
  std::vector<std::string> command = request.command;
  for (std::string& word : command)
    for (const auto& [name, value] : values_of(request, run)) {
      const std::string placeholder = "{" + name + "}";
      for (std::size_t at = word.find(placeholder); at != std::string::npos;
           at = word.find(placeholder, at + value.size()))
        word.replace(at, placeholder.size(), value);
    }
  return command;
}

std::map<std::string, std::string> variables_of(const JobRequest& request, const JobRun& run) {
  std::map<std::string, std::string> variables;
  for (const auto& [name, value] : values_of(request, run)) {
    std::string variable = "DDPPROF_" + name;
    std::transform(variable.begin(), variable.end(), variable.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    variables[variable] = value;
  }
  if (!request.steps.empty()) variables["DDPPROF_STEPS"] = request.steps;
  return variables;
}

}  // namespace ddpprof::job
