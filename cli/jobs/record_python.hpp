// The part of `ddpprof record` that chooses the tracers of a job.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "runner/measure/recording_bounds.hpp"
#include "runner/python_tracer/python_tracer.hpp"

namespace ddpprof::cli {

inline constexpr const char* tracer_help =
    "native (NVTX, CUDA, NCCL), torch (torch.profiler in each training Python process, for a window of steps), both, "
    "or "
    "auto: torch where the native tracer has nothing to record";

inline constexpr const char* noise_scale_help =
    "Measure the norms of the gradient in this many steps before the window, for the gradient noise scale\n"
    "of ddpprof lr, e.g. 200";

// Returns the steps that the Python module observes; none if the bounds leave too few.
std::optional<python_tracer::StepWindow> window_of(const measure::RecordingBounds& bounds);

// Throws Failure: the steps that the setting `name` selects are too few for `tracer`.
[[noreturn]] void refuse_window(const std::string& name, const std::string& steps, const std::string& tracer);

class Tracers {
 public:
  // Throws Failure if the name is unknown, or if the bounds or the norms contradict the choice.
  Tracers(const std::string& name, const measure::RecordingOptions& given, const measure::RecordingBounds& bounds,
          std::int64_t noise_steps);

  bool native() const { return native_; }
  bool torch() const { return window_.has_value(); }
  // Returns why torch.profiler was left out although the tracer is chosen automatically; empty if it was not.
  const std::string& left_out() const { return left_out_; }

  // Returns the variables of the Python module. Makes the folder of its files in `recording`. Empty without torch.
  std::map<std::string, std::string> environment(const std::filesystem::path& recording) const;

  // Returns the folder of the Python module's files.
  static std::filesystem::path python_folder(const std::filesystem::path& recording) { return recording / "python"; }

 private:
  bool native_ = true;
  python_tracer::Mode mode_ = python_tracer::Mode::automatic;
  std::int64_t noise_steps_ = 0;
  std::string left_out_;
  std::optional<python_tracer::StepWindow> window_;
};

}  // namespace ddpprof::cli
