#include "runner/doctor/checks.hpp"

#include <fmt/format.h>

#include "simulator/units/units.hpp"

namespace ddpprof::doctor {

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::good:
      return "good";
    case Verdict::note:
      return "note";
    case Verdict::bad:
      return "bad";
  }
  return "unknown";
}

std::string unreadable(const std::string& why) { return fmt::format("not readable here ({})", why); }

std::string gibibytes(std::int64_t bytes) { return units::format_bytes(bytes); }

Checks make_checks(const Facts& facts) {
  Checks checks;
  check_programs(facts, checks);
  check_processor(facts, checks);
  check_activity(facts, checks);
  check_memory(facts, checks);
  check_gpus(facts, checks);
  check_cuda(facts, checks);
  check_network(facts, checks);
  check_environment(facts, checks);
  return checks;
}

}  // namespace ddpprof::doctor
