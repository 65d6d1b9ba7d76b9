// The part of `ddpprof run` that measures a user's own command, of a scenario file or of the command line.
#pragma once

#include <string>
#include <vector>

#include "analysis/report/render/render.hpp"
#include "cli/subcommand.hpp"
#include "runner/scenario/scenario.hpp"

namespace ddpprof::cli {

struct RunJob {
  scenario::Scenario scenario;  // has a command; output.database empty: <name>.db
  std::string path, source;     // of the scenario file; empty: the command comes from the command line
  bool overwrite = false, resume = false, dry_run = false;
  report::Format format{};
};

// "train" for "torchrun --nproc-per-node 2 train.py": the name of a command without a scenario file.
std::string name_of_command(const std::vector<std::string>& command);

// Throws UserError if the window of steps is wrong or a placeholder of the command has no value.
void check_job(const RunJob&);

// Measures every run of the scenario's command, fits, predicts and prints the report. Returns ExitCode::failed if a run
// was not measured. Throws UserError and store::DatabaseError.
ExitCode run_job(const RunJob&, Context&);

}  // namespace ddpprof::cli
