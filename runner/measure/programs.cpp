#include "runner/measure/programs.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runner/measure/command.hpp"
#include "runner/measure/error.hpp"
#include "runner/measure/installation.hpp"

namespace ddpprof::measure {
namespace {

constexpr const char* rebuild = "build or install ddpprof, its worker and its tracer from one source";

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

void check_version(Program& program, const std::string& version) {
  if (version == DDPPROF_VERSION || !program.problem.empty()) return;
  program.problem = fmt::format("has version {}, this ddpprof has version {}", version, DDPPROF_VERSION);
  program.remedy = rebuild;
}

// The check prints the program's name before the problem, so the name is removed from the error. The error states what to
// do, so there is no other remedy.
void not_found(Program& program, std::string_view name, const MissingProgram& failure) {
  program.problem = failure.text();
  if (program.problem.starts_with(std::string(name) + " ")) program.problem.erase(0, name.size() + 1);
}

// Fills in the worker's answer to --about.
void read_answer(Worker& worker, const CommandOutcome& outcome) {
  const auto answer = nlohmann::json::parse(outcome.output, nullptr, false);
  if (!answer.is_object() || !answer.contains("program_version")) {
    worker.problem = "answered '" + first_line(outcome.output) + "' instead of a JSON object";
    worker.remedy = rebuild;
    return;
  }
  worker.version = answer.value("program_version", "");
  worker.torch = answer.value("torch_version", "");
  worker.cuda = answer.value("cuda_version", "none");
  worker.backends = answer.value("backends", std::vector<std::string>{});
  worker.cuda_devices = answer.value("cuda_devices", std::int64_t{0});
  worker.warning = first_line(outcome.errors);
  check_version(worker, worker.version);
}

}  // namespace

Tracer look_at_tracer() {
  Tracer tracer;
  try {
    tracer.path = find_tracer();
  } catch (const MissingProgram& failure) {
    not_found(tracer, "libddpprof-tracer.so", failure);
    return tracer;
  }
  // Loading the library starts nothing: it records after NVTX or CUDA has called its entry points.
  void* library = dlopen(tracer.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* error = dlerror();
    tracer.problem = fmt::format("cannot be loaded: {}", error != nullptr ? error : "no reason given");
    tracer.remedy = rebuild;
    return tracer;
  }
  void* version = dlsym(library, "ddpprof_tracer_version");
  if (version == nullptr) {
    tracer.problem = "is not a tracer of ddpprof: it has no function ddpprof_tracer_version";
    tracer.remedy = rebuild;
  } else {
    tracer.version = reinterpret_cast<const char* (*)()>(version)();
    check_version(tracer, tracer.version);
  }
  dlclose(library);
  return tracer;
}

Worker look_at_worker(std::chrono::milliseconds limit) {
  Worker worker;
  try {
    worker.path = find_worker();
  } catch (const MissingProgram& failure) {
    not_found(worker, "ddpprof-worker", failure);
    return worker;
  }
  const CommandOutcome outcome = run_command({worker.path.string(), "--about"}, limit);
  if (outcome.interrupted) throw Interrupted("interrupted");
  worker.seconds = outcome.seconds;
  const double limit_s = static_cast<double>(limit.count()) / 1000.0;
  if (!outcome.started) {
    worker.problem = "cannot be started: " + outcome.error;
  } else if (outcome.timed_out) {
    worker.problem = fmt::format("did not answer within {:.3g} s", limit_s);
    worker.remedy = "check whether the disk with LibTorch is slow or busy, then try again";
  } else if (outcome.exit_code != 0) {
    worker.problem = outcome.signal != 0 ? fmt::format("was ended by signal {}", outcome.signal)
                                         : fmt::format("ended with exit code {}", outcome.exit_code);
    const std::string& said = outcome.errors.empty() ? outcome.output : outcome.errors;
    if (!said.empty()) worker.problem += ": " + first_line(said);
    worker.remedy =
        "LibTorch's libraries must be where the worker was linked to them; otherwise build the worker again";
  } else {
    read_answer(worker, outcome);
  }
  return worker;
}

}  // namespace ddpprof::measure
