#include <fmt/format.h>

#include <cstdlib>

#include "runner/python_tracer/python_tracer.hpp"

namespace ddpprof::python_tracer {

std::map<std::string, std::string> environment(const Injection& injection) {
  std::string path = injection.module_folder.string();
  if (const char* set = std::getenv("PYTHONPATH"); set != nullptr && *set != '\0') path += std::string(":") + set;
  return {{"PYTHONPATH", path},
          {"DDPPROF_PYTHON_DIR", injection.output_folder.string()},
          {"DDPPROF_PYTHON_STEPS", fmt::format("{}-{}", injection.window.first, injection.window.last)},
          {"DDPPROF_PYTHON_NOISE_STEPS", fmt::format("{}", injection.noise_steps)},
          {"DDPPROF_PYTHON_MODE", injection.mode == Mode::always ? "always" : "automatic"}};
}

}  // namespace ddpprof::python_tracer
