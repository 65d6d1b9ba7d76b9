// Continues a database that an earlier `ddpprof run` of the same scenario did not get to the end of.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runner/measure/sweep.hpp"

namespace ddpprof::measure {

struct Resumption {
  SweepTarget target;
  std::optional<std::int64_t> scenario_id;  // none: the earlier run was ended before it wrote anything
  std::set<std::string> measured;           // configuration_name() of those that are kept
  std::vector<std::string> removed;         // those whose measurement was not whole, and what it was
  std::vector<std::string> other_hosts;     // that what is kept was measured on, with the same models as this one
};

// Keeps the measurements of `options.database` whose status is ok; those that failed or were cut off are removed with
// all their rows and files. Throws Failure: usage, with nothing changed, when the database was measured with another
// scenario, version, device, model of processor or GPU, or share of the machine, or was imported, or when a run is
// measuring into it; data when it is damaged.
Resumption resume_database(const SweepOptions& options, const scenario::Scenario& scenario, const Plan& plan);

}  // namespace ddpprof::measure
