// The runs of a user's own command that `ddpprof run -- COMMAND` measures: one for each N, batch and repeat.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ddpprof::job {

struct JobRequest {
  std::vector<std::string> command;   // may contain {workers}, {nodes}, {batch}, {lr} and {folder}
  std::vector<std::int64_t> workers;  // N
  std::vector<std::int64_t> batches;  // values of {batch}; empty: the command has none
  std::int64_t nodes = 1, repeats = 1;
  std::string learning_rate;  // value of {lr}; empty: none
  std::string folder;         // value of {folder}, absolute
  std::string steps;          // steps to trace, "20-60"; empty: the tracer's default
  bool of_file = false;       // of a scenario file, otherwise of the command line
};

// The names of a request's settings in messages: options of the command line, or keys of a scenario file.
struct SettingNames {
  const char *batches, *learning_rate, *nodes, *steps, *timeout, *tracer, *noise_steps;
};
const SettingNames& setting_names(bool of_file);

struct JobRun {
  std::int64_t workers = 1;
  std::optional<std::int64_t> batch;
  std::int64_t repeat = 0;

  std::string name() const;  // "n2-b32-r0", "n2-r0"
};

// Returns the runs in their order. Repeats are the outer loop, so that a slow minute of the machine affects every N and
// not only one. Throws measure::InvalidRequest if the command has a placeholder without a value.
std::vector<JobRun> make_job_plan(const JobRequest&);

// Returns true if a word of the command has the placeholder {name}. A name after a dollar sign, ${name}, is a variable
// of a shell.
bool has_placeholder(const std::vector<std::string>& command, const std::string& name);

// Returns the command with the placeholders replaced. Other braces stay as they are.
std::vector<std::string> command_of(const JobRequest&, const JobRun&);

// Returns the words in one line, for messages: a line break is shown as "\n".
std::string text_of(const std::vector<std::string>& command);

// Returns the values of the placeholders as variables: DDPPROF_WORKERS, DDPPROF_NODES, DDPPROF_BATCH, DDPPROF_LR,
// DDPPROF_FOLDER, and DDPPROF_STEPS.
std::map<std::string, std::string> variables_of(const JobRequest&, const JobRun&);

}  // namespace ddpprof::job
