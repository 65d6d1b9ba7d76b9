#include "cli/jobs/record_python.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "cli/failure.hpp"
#include "runner/measure/installation.hpp"

namespace ddpprof::cli {
std::optional<python_tracer::StepWindow> window_of(const measure::RecordingBounds& bounds) {
  python_tracer::StepWindow window;
  if (!bounds.watches_steps) return window;
  const std::int64_t usual = window.last - window.first + 1;
  const bool from = bounds.first_step != trace::no_first_step, until = bounds.last_step != trace::no_last_step;
  if (until) window.last = bounds.last_step;
  window.first = from ? bounds.first_step : window.last - usual + 1;
  window.first = std::max(window.first, python_tracer::least_first_step);
  if (!until) window.last = window.first + usual - 1;
  if (window.last - window.first + 1 < python_tracer::least_window_steps) return std::nullopt;
  return window;
}

void refuse_window(const std::string& name, const std::string& steps, const std::string& tracer) {
  throw Failure(ExitCode::usage, fmt::format("{} {}: too few steps for {}", name, steps, tracer),
                fmt::format("at least {} steps from step {} on: the first half is timed without torch.profiler, the "
                            "second half is traced",
                            python_tracer::least_window_steps, python_tracer::least_first_step),
                fmt::format("give a wider window, for example {} 10-49", name));
}

Tracers::Tracers(const std::string& name, const measure::RecordingOptions& given,
                 const measure::RecordingBounds& bounds, std::int64_t noise_steps)
    : noise_steps_(noise_steps) {
  if (name != "auto" && name != "native" && name != "torch" && name != "both")
    throw Failure(ExitCode::usage, "--tracer: '" + name + "' is unknown", "auto, native, torch or both", "");
  native_ = name != "torch";
  if (name == "native" && noise_steps > 0)
    throw Failure(ExitCode::usage, "--noise-scale needs ddpprof's Python module, which --tracer native leaves out",
                  "--tracer auto or torch", "leave out one of the two");
  if (name == "native") return;
  const bool asked = name != "auto";
  // Norms are stored with the traces of torch.profiler.
  if (asked || noise_steps > 0) mode_ = python_tracer::Mode::always;
  if (given.delay_s || given.duration_s || !given.toggle_signal.empty() || !given.step_range.empty()) {
    if (name == "torch")
      throw Failure(ExitCode::usage,
                    "--delay, --duration, --toggle-signal and --step-range bound the native tracer only",
                    "--steps with --tracer torch", "leave them out, or use --tracer native");
    if (!asked) {  // the user bounded the native tracer
      left_out_ = "torch.profiler was left out, because --delay, --duration, --toggle-signal and --step-range bound the "
                  "native tracer only";
      return;
    }
  }
  window_ = window_of(bounds);
  if (!window_ && asked) refuse_window("--steps", given.steps, "--tracer " + name);
  if (!window_)
    left_out_ = fmt::format("torch.profiler was left out, because --steps {} are too few for it: give at least {} steps "
                            "from step {} on, for example --steps 10-49",
                            given.steps, python_tracer::least_window_steps, python_tracer::least_first_step);
}

std::map<std::string, std::string> Tracers::environment(const std::filesystem::path& recording) const {
  if (!window_) return {};
  const std::filesystem::path folder = python_folder(recording);
  std::error_code error;
  std::filesystem::create_directory(folder, error);
  if (error) throw Failure(ExitCode::failed, "cannot make the folder " + folder.string() + ": " + error.message());
  return python_tracer::environment({measure::find_python_module(), folder, *window_, mode_, noise_steps_});
}

}  // namespace ddpprof::cli
