#include "cli/doctor/checks.hpp"

#include <fmt/format.h>

#include "analysis/report/units.hpp"

namespace ddpprof::cli {

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

namespace {
constexpr const char* unreadable_begin = "not readable here";
}

std::string unreadable(const std::string& why) { return fmt::format("{} ({})", unreadable_begin, why); }

std::string gibibytes(std::int64_t bytes) { return report::format_bytes(bytes); }

Checks make_checks(const Facts& facts) {
  Checks checks;
  check_programs(facts, checks);
  check_processor(facts, checks);
  check_activity(facts, checks);
  check_memory(facts, checks);
  check_gpus(facts, checks);
  check_network(facts, checks);
  check_environment(facts, checks);
  // What nobody can see is not known to be good.
  for (Check& check : checks)
    if (check.verdict == Verdict::good && check.found.starts_with(unreadable_begin)) check.verdict = Verdict::note;
  return checks;
}

}  // namespace ddpprof::cli
