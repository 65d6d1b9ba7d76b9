// Checks of the worker and the tracer of this installation.
#include <fmt/format.h>

#include "runner/doctor/checks.hpp"

namespace ddpprof::doctor {
namespace {

constexpr const char* programs_area = "programs";

}  // namespace

void check_programs(const Facts& facts, Checks& checks) {
  const Worker& worker = facts.worker;
  Check one{programs_area, "ddpprof-worker", "", Verdict::good, worker.remedy};
  if (!worker.problem.empty()) {
    one.found = worker.path.empty() ? worker.problem : worker.path.string() + " " + worker.problem;
    one.verdict = Verdict::bad;
  } else {
    std::string backends;
    for (const std::string& backend : worker.backends) backends += (backends.empty() ? "" : ", ") + backend;
    one.found = fmt::format("{}: version {}, LibTorch {}, CUDA build {}, backends {}; starts in {:.2f} s",
                            worker.path.string(), worker.version, worker.torch, worker.cuda, backends, worker.seconds);
    if (!worker.warning.empty()) {
      one.found += "; it warns: " + worker.warning;
      one.verdict = Verdict::note;
      one.advice = "the warning applies to every measurement; with a driver that is too old only the CPU can be used";
    }
  }
  checks.push_back(one);

  const Tracer& tracer = facts.tracer;
  Check two{programs_area, "tracer", "", Verdict::good, tracer.remedy};
  if (!tracer.problem.empty()) {
    two.found = tracer.path.empty() ? tracer.problem : tracer.path.string() + " " + tracer.problem;
    two.verdict = Verdict::bad;
  } else {
    two.found = fmt::format("{}: version {}", tracer.path.string(), tracer.version);
  }
  checks.push_back(two);
}

}  // namespace ddpprof::doctor
