// What `ddpprof doctor` says of the facts: a verdict on each, what to do about it, and what can be measured here.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runner/doctor/facts.hpp"

namespace ddpprof::doctor {

enum class Verdict { good, note, bad };  // note: it can change a measurement; bad: it spoils or prevents one
const char* to_string(Verdict verdict);

struct Check {
  std::string area, what, found;
  Verdict verdict = Verdict::good;
  std::string advice;  // "" where there is nothing to do
};
using Checks = std::vector<Check>;

// Every check, in the order in which it is read. The same facts give the same checks.
Checks make_checks(const Facts& facts);

// The parts of it.
void check_processor(const Facts& facts, Checks& checks);
void check_activity(const Facts& facts, Checks& checks);
void check_memory(const Facts& facts, Checks& checks);
void check_programs(const Facts& facts, Checks& checks);
void check_gpus(const Facts& facts, Checks& checks);
void check_cuda(const Facts& facts, Checks& checks);
void check_network(const Facts& facts, Checks& checks);
void check_environment(const Facts& facts, Checks& checks);

struct Ability {
  std::string what;
  bool can = false;
  std::string detail;  // how far, or why not
  std::string advice;  // what would make it possible
};
std::vector<Ability> abilities(const Facts& facts);
bool can_measure(const Facts& facts);  // at least one training on the CPU

// "not readable here (why)".
std::string unreadable(const std::string& why);

struct Judgement {
  Verdict verdict = Verdict::good;
  std::string advice;
};

// One fact, described and judged; one that cannot be read is not known to be good: a note, with `unknown_advice`.
template <class Reading, class Describe, class Judge>
Check judge(const char* area, const char* what, const Reading& reading, Describe&& describe, Judge&& judge,
            std::string unknown_advice = "") {
  if (!reading) return {area, what, unreadable(reading.why), Verdict::note, std::move(unknown_advice)};
  Judgement judgement = judge(*reading);
  return {area, what, describe(*reading), judgement.verdict, std::move(judgement.advice)};
}
std::string gibibytes(std::int64_t bytes);  // "23.5 GiB"

}  // namespace ddpprof::doctor
