// Steps that ddpprof's Python module timed before the trace.
#pragma once

#include <cstdint>

#include "analysis/import/trace/job_facts.hpp"
#include "analysis/ingest/shard_trace.hpp"

namespace ddpprof::import {

// Inserts the job's steps before the traced ones: those with norms of the gradient as warm-up steps, since the norms
// make them longer, and those without the profiler as untraced ones. Their times are of another clock than the trace's:
// if that was set meanwhile, they end at the next steps. Their samples are the mean of the traced steps': the last
// accumulation of an epoch may have fewer micro-batches. `base_ns`: the trace's time 0 since 1970.
void add_job_steps(const JobFacts&, std::int64_t base_ns, ingest::ShardTrace&);

}  // namespace ddpprof::import
