// The part of `ddpprof run` that measures a user's own command: ddpprof run --workers 1,2 -- COMMAND.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/report/render/render.hpp"
#include "cli/subcommand.hpp"
#include "runner/job/job_plan.hpp"
#include "runner/python_tracer/python_tracer.hpp"

namespace ddpprof::cli {

struct RunJob {
  job::JobRequest request;
  std::string database;  // empty: named after the command
  std::string model;     // empty: the database's name
  bool overwrite = false, resume = false, dry_run = false;
  bool keep_traces = false, keep_raw = true;
  std::int64_t limit_s = 1800, grace_s = 30;
  std::optional<python_tracer::StepWindow> window;  // of ddpprof's Python module; none: the job writes its traces
  report::Format format{};
};

// Measures every run of the request, fits, predicts and prints the report. Returns ExitCode::failed if a run was not
// measured. Throws UserError and store::DatabaseError.
ExitCode run_job(const RunJob&, Context&);

}  // namespace ddpprof::cli
