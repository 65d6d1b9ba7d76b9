// Facts of recorded machines (tests/host/machines), and their checks and abilities.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "runner/doctor/checks.hpp"
#include "runner/doctor/facts.hpp"

namespace ddpprof::doctor {

// A correct installation on a recorded machine.
inline Facts facts_of(const std::string& machine) {
  Facts facts = recorded_facts(host::Host(std::filesystem::path(DDPPROF_MACHINES) / machine));
  facts.worker.path = "/usr/bin/ddpprof-worker";
  facts.worker.version = DDPPROF_VERSION;
  facts.worker.torch = "2.11.0";
  facts.worker.cuda = "13.0";
  facts.worker.backends = {"gloo", "nccl"};
  facts.tracer.path = "/usr/lib/libddpprof-tracer.so";
  facts.tracer.version = DDPPROF_VERSION;
  facts.folder_writable = true;
  facts.database_folder = "/home";
  facts.disk = host::Reading<host::Space>::of({std::int64_t{100} << 30, std::int64_t{50} << 30});
  facts.limits = {.open_files = 4096, .locked_bytes = -1, .core_bytes = -1};
  return facts;
}

inline Check check_of(const Facts& facts, const std::string& what) {
  for (const Check& check : make_checks(facts)) {
    if (check.what == what) return check;
  }
  ADD_FAILURE() << "no check '" << what << "'";
  return {};
}

inline Ability ability_of(const Facts& facts, const std::string& what) {
  for (const Ability& ability : abilities(facts)) {
    if (ability.what.starts_with(what)) return ability;
  }
  ADD_FAILURE() << "no ability '" << what << "'";
  return {};
}

}  // namespace ddpprof::doctor
