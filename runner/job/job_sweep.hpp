// Measures the runs of a user's own command into one database. A run that fails does not end the sweep.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <set>
#include <string>
#include <vector>

#include "runner/job/job_plan.hpp"
#include "runner/job/trace_source.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::job {

struct JobSweepOptions {
  std::filesystem::path folder;      // logs and traces go to `<folder>/<name of the run>`
  std::chrono::seconds limit{1800};  // of one run, from its start to SIGTERM
  std::chrono::seconds grace{30};    // from SIGTERM to SIGKILL
  bool keep_traces = false, keep_raw = true;
  std::string model;
  std::int64_t cores = 1;
  bool quiet = false;
};

struct FailedRun {
  std::string name, reason;
};

struct JobSweepResult {
  std::int64_t measured = 0;  // includes the runs of earlier sweeps
  std::vector<FailedRun> failed;
  bool interrupted = false;
};

// Returns the names of the runs that the database has. Removes measurements whose N is not that of their run: the
// program was killed before it could refuse them. Throws measure::InvalidRequest if another command made the database.
std::set<std::string> measured_runs(store::Database&, const JobRequest&);

// Returns the name of the model of the measured runs; empty without one. Runs with another name would not be fitted
// together with them.
std::string measured_model(store::Database&);

// Writes the request to the table meta, so that --resume can compare it.
void record_request(store::Database&, const JobRequest&);

// Throws measure::MissingProgram if the program of a run cannot be started. Call it before the database is made.
void require_programs(const JobRequest&, const std::vector<JobRun>& plan);

// Measures the runs that are not in `measured`. Shows each run on `messages`. The reason of each failed run is a
// diagnostic of the file until the run is started again. Throws DatabaseError and measure::CannotWrite.
JobSweepResult sweep_jobs(store::Database&, const JobRequest&, const std::vector<JobRun>& plan, const TraceSource&,
                          const std::set<std::string>& measured, const JobSweepOptions&, std::ostream& messages);

// Returns a warning if the runs on CPUs had different numbers of threads per rank at different N, other than an equal
// share of the cores. Empty if not. The warning is also a diagnostic of the first measurement.
std::string warn_of_threads(store::Database&);

}  // namespace ddpprof::job
