// Notes on what a job's process states of its training: facts that vary, or that differ from the trace.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/import/trace/job_facts.hpp"
#include "analysis/import/trace/training.hpp"

namespace ddpprof::import {

// `accumulation`: that of the trace; 0 without a traced step.
std::vector<Note> job_notes(const JobFacts&, std::int64_t accumulation);

}  // namespace ddpprof::import
