// Where the traces of a job come from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

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

}  // namespace ddpprof::job
