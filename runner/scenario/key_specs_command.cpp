#include <vector>

#include "runner/scenario/binding.hpp"
#include "runner/scenario/key_table.hpp"

namespace ddpprof::scenario {
namespace {

constexpr auto command_of_scenario = &Scenario::command;
constexpr auto scenario_of_draft = &Draft::scenario;

}  // namespace

void add_command_specs(std::vector<KeySpec>& specs) {
  constexpr auto S = scenario_of_draft;
  constexpr auto C = command_of_scenario;
  specs.push_back(bound<S, C, &Command::words>(
      {.key = "workload.command",
       .type = KeyType::text_list,
       .unit = "",
       .required = true,
       .limits = {.entries = 1},
       .text_rule = "one word of the command",
       .multiline = true,
       .form = Form::command,
       .doc = "Your own training instead of `workload.model`, one text per word, without a shell. `{workers}`, "
              "`{nodes}`, `{batch}` and `{lr}` are replaced in each word, and `{folder}` by the absolute path of the "
              "scenario file's folder. A word may have line breaks, for example a script after `sh -c`. The command is "
              "started in the current folder ([run-your-job.md](../guide/run-your-job.md))."}));
  specs.push_back(
      bound<S, C, &Command::nodes>({.key = "workload.nodes",
                                    .type = KeyType::integer,
                                    .unit = "hosts",
                                    .limits = {.least = 1, .most = 1'048'576},
                                    .form = Form::command,
                                    .doc = "Number of hosts that the command uses: the value of `{nodes}`."}));
  specs.push_back(bound<S, C, &Command::learning_rate>(
      {.key = "workload.lr",
       .type = KeyType::text,
       .unit = "",
       .text_rule = "as the command expects it, for example 0.01",
       .form = Form::command,
       .doc = "The value of `{lr}`. Empty: the command has no such placeholder."}));
}

void add_command_measure_specs(std::vector<KeySpec>& specs) {
  constexpr auto S = scenario_of_draft;
  constexpr auto C = command_of_scenario;
  specs.push_back(bound<S, C, &Command::window>(
      {.key = "measure.window",
       .type = KeyType::text,
       .unit = "steps",
       .text_rule = "first and last step, for example 10-49",
       .form = Form::command,
       .doc = "Steps of a command to measure. The first half is timed, the second half is traced. Empty: 10-49."}));
  specs.push_back(bound<S, C, &Command::tracer>(
      {.key = "measure.tracer",
       .type = KeyType::choice,
       .unit = "",
       .choices = names_of<JobTracer>(),
       .form = Form::command,
       .doc = "`torch`: torch.profiler in each Python process that trains. `own`: the job writes its traces to the "
              "folder that the variable `DDPPROF_TRACE_DIR` names."}));
  specs.push_back(bound<S, C, &Command::noise_steps>(
      {.key = "measure.noise_steps",
       .type = KeyType::integer,
       .unit = "steps",
       .limits = {.least = 0, .most = 1'000'000},
       .form = Form::command,
       .doc = "Steps of a command before the window in which the norms of the gradient are measured, for the gradient "
              "noise scale of `ddpprof lr`. The window begins as many steps later. 0: none."}));
  specs.push_back(
      bound<S, C, &Command::timeout_s>({.key = "measure.job_timeout_s",
                                        .type = KeyType::integer,
                                        .unit = "s",
                                        .limits = {.least = 1, .most = 31'536'000},
                                        .form = Form::command,
                                        .doc = "Time after which a run of a command is ended and counts as failed."}));
  specs.push_back(
      bound<S, C, &Command::grace_s>({.key = "measure.grace_s",
                                      .type = KeyType::integer,
                                      .unit = "s",
                                      .limits = {.least = 1, .most = 86'400},
                                      .form = Form::command,
                                      .doc = "Time from SIGTERM to SIGKILL when a run of a command is ended."}));
}

}  // namespace ddpprof::scenario
