// The checks of `ddpprof doctor`: a verdict and an advice on each fact, and what can be measured on this machine.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runner/doctor/facts.hpp"

namespace ddpprof::doctor {

enum class Verdict { good, note, bad };  // note: it can change a measurement; bad: it makes one invalid
const char* to_string(Verdict verdict);

struct Check {
  std::string area, what, found;
  Verdict verdict = Verdict::good;
  std::string advice;  // "" if nothing has to be done
};
using Checks = std::vector<Check>;

// Every check, in the order of the table. Depends only on the facts.
Checks make_checks(const Facts& facts);

// The parts of make_checks().
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
  std::string detail;  // up to which N, or why not
  std::string advice;  // how to make it possible
};
std::vector<Ability> abilities(const Facts& facts);
bool can_measure(const Facts& facts);  // true if at least training on the CPU is possible

// "not readable here (why)".
std::string unreadable(const std::string& why);

struct Judgement {
  Verdict verdict = Verdict::good;
  std::string advice;
};

// Describes and judges one fact. A fact that cannot be read gets the verdict note, with `unknown_advice`.
template <class Reading, class Describe, class Judge>
Check judge(const char* area, const char* what, const Reading& reading, Describe&& describe, Judge&& judge,
            std::string unknown_advice = "") {
  if (!reading) return {area, what, unreadable(reading.why), Verdict::note, std::move(unknown_advice)};
  Judgement judgement = judge(*reading);
  return {area, what, describe(*reading), judgement.verdict, std::move(judgement.advice)};
}
std::string gibibytes(std::int64_t bytes);  // "23.5 GiB"

}  // namespace ddpprof::doctor
