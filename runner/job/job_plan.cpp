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

// Returns the place of the placeholder in the word, from `from` on; npos without it.
std::size_t find_placeholder(const std::string& word, const std::string& placeholder, std::size_t from) {
  std::size_t at = word.find(placeholder, from);
  while (at != std::string::npos && at > 0 && word[at - 1] == '$') at = word.find(placeholder, at + 1);
  return at;
}

std::string placeholder_of(const std::string& name) { return "{" + name + "}"; }

}  // namespace

const SettingNames& setting_names(bool of_file) {
  static constexpr SettingNames options = {"--batches",     "--lr",     "--nodes",      "--steps",
                                           "--job-timeout", "--tracer", "--noise-scale"};
  static constexpr SettingNames keys = {"measure.batches",    "workload.lr",           "workload.nodes",
                                        "measure.window",     "measure.job_timeout_s", "measure.tracer",
                                        "measure.noise_steps"};
  return of_file ? keys : options;
}

std::string JobRun::name() const {
  return batch ? fmt::format("n{}-b{}-r{}", workers, *batch, repeat) : fmt::format("n{}-r{}", workers, repeat);
}

std::vector<JobRun> make_job_plan(const JobRequest& request) {
  const auto refuse_without = [&](const char* placeholder, const char* where, bool given) {
    if (given || !has_placeholder(request.command, placeholder)) return;
    throw measure::InvalidRequest(fmt::format("the command has {{{}}}, and {} is missing", placeholder, where), where,
                                  fmt::format("give {}, or write the number into the command", where));
  };
  const SettingNames& names = setting_names(request.of_file);
  refuse_without("batch", names.batches, !request.batches.empty());
  refuse_without("lr", names.learning_rate, !request.learning_rate.empty());
  std::vector<JobRun> runs;
  for (std::int64_t repeat = 0; repeat < request.repeats; ++repeat)
    for (const std::int64_t workers : request.workers) {
      if (request.batches.empty()) runs.push_back({workers, std::nullopt, repeat});
      for (const std::int64_t batch : request.batches) runs.push_back({workers, batch, repeat});
    }
  return runs;
}

bool has_placeholder(const std::vector<std::string>& command, const std::string& name) {
  return std::ranges::any_of(command, [placeholder = placeholder_of(name)](const std::string& word) {
    return find_placeholder(word, placeholder, 0) != std::string::npos;
  });
}

std::vector<std::string> command_of(const JobRequest& request, const JobRun& run) {
  std::vector<std::string> command = request.command;
  for (std::string& word : command)
    for (const auto& [name, value] : values_of(request, run)) {
      const std::string placeholder = placeholder_of(name);
      for (std::size_t at = find_placeholder(word, placeholder, 0); at != std::string::npos;
           at = find_placeholder(word, placeholder, at + value.size()))
        word.replace(at, placeholder.size(), value);
    }
  return command;
}

std::string text_of(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) {
    if (!text.empty()) text += ' ';
    for (const char c : word) text += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return text;
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
