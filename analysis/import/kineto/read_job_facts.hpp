// Reads the member `ddpprofJob` of a trace.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "analysis/import/trace/job_facts.hpp"

namespace ddpprof::import {

// Returns none if the value is not an object of a known format. Single values that are impossible count as unknown.
std::optional<JobFacts> read_job_facts(const nlohmann::json& value);

}  // namespace ddpprof::import
