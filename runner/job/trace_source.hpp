// The source of a job's traces.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runner/python_tracer/python_tracer.hpp"

namespace ddpprof::job {

struct TraceSource {
  // Returns the variables with which the job writes its traces to `folder`.
  std::function<std::map<std::string, std::string>(const std::filesystem::path& folder)> environment;
  // Returns true if the folder has the complete traces of `ranks` ranks while the job still runs. Called repeatedly.
  std::function<bool(const std::filesystem::path& folder, std::int64_t ranks)> complete;
  // Called after the job has ended. Returns the traces in the folder; adds to `notes` what is missing.
  std::function<std::vector<std::filesystem::path>(const std::filesystem::path& folder,
                                                   std::vector<std::string>& notes)>
      collect;
};

// The job writes the traces itself, one file per rank, to the folder that its variable DDPPROF_TRACE_DIR names. A file
// counts as complete when it has not changed for three seconds.
TraceSource own_traces();

// ddpprof's Python module traces the steps of `window` in every Python process of the job that trains. If the job also
// writes traces itself, as for own_traces(), these are used. `module_folder` is measure::find_python_module().
// `noise_steps`: python_tracer::Injection.
TraceSource injected_traces(const std::filesystem::path& module_folder, const python_tracer::StepWindow& window,
                            std::int64_t noise_steps = 0);

}  // namespace ddpprof::job
