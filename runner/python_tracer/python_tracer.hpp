// Injects ddpprof's Python module into the processes of a job, and reads what the module left. The module observes
// optimizer steps and runs torch.profiler in a bounded window of them: one trace per rank.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace ddpprof::python_tracer {

// Steps `first` to `last` of each rank, both included, counted from 0 by the optimizer's steps. The first half of the
// window is measured without the profiler, the second half (at most 20 steps) with it.
struct StepWindow {
  std::int64_t first = 10, last = 49;
};
inline constexpr std::int64_t least_first_step = 2;    // DDP's buckets are final, and the facts of the job are known
inline constexpr std::int64_t least_window_steps = 4;  // 1 step without and 2 with the profiler, 1 between them

enum class Mode {
  automatic,  // torch.profiler, unless the process used CUDA or NVTX: these are recorded by the native tracer
  always,     // torch.profiler in every process that trains
};

struct Injection {
  std::filesystem::path module_folder;  // measure::find_python_module()
  std::filesystem::path output_folder;  // exists; one for each start of a job
  StepWindow window;
  Mode mode = Mode::automatic;
  std::int64_t noise_steps = 0;  // steps before the window with norms of the gradient; the window then begins later
};

// Returns the variables with which Python processes load the module: PYTHONPATH (the folder, then this
// process's own PYTHONPATH), and the module's own variables. Child processes inherit them.
std::map<std::string, std::string> environment(const Injection&);

struct Traces {
  std::vector<std::filesystem::path> files;  // one per rank, ordered by rank
  // Processes that were not traced, each with the reason, and traces that are left out. Empty if all is well.
  std::vector<std::string> notes;
  std::int64_t native = 0;  // processes that used CUDA or NVTX and were left to the native tracer
  std::string nothing;      // why no trace was found, if no process reported a reason; empty with a trace
};

// Reads what the module left in the folder, after the job has ended. If a rank was traced in several attempts or
// trainings, only the last one of the most ranks is returned. Does not throw: what cannot be read becomes a note.
Traces collect(const std::filesystem::path& output_folder);

}  // namespace ddpprof::python_tracer
