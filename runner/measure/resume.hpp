// Continues the database of an interrupted or failed `ddpprof run` of the same scenario.
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
  std::optional<std::int64_t> scenario_id;  // nullopt: the earlier run ended before it wrote anything
  std::set<std::string> measured;           // configuration_name() of the kept measurements
  std::vector<std::string> removed;         // the removed measurements with their status
  std::vector<std::string> other_hosts;     // hosts of the kept measurements, if not this host; their models are equal
};

// Keeps the measurements of `options.database` whose status is ok. Removes all others with their rows and files.
// Throws InvalidRequest, with nothing changed, if the database was imported, is in use by another run, or was measured
// with another scenario, version, device, processor or GPU model, number of cores or threads. Throws CannotWrite, and
// DatabaseError if the database is damaged.
Resumption resume_database(const SweepOptions& options, const scenario::Scenario& scenario, const Plan& plan);

}  // namespace ddpprof::measure
