// Facts that ddpprof's injected Python module (python/injected) writes into a trace beside the events, as member
// `ddpprofJob`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ddpprof::import {

// Steps that were timed without the profiler, in the same process and before the trace.
struct UntracedSteps {
  std::int64_t first = 0;     // number of the first one
  std::int64_t begin_ns = 0;  // its start, since 1970
  std::vector<std::int64_t> durations_ns;
};

// Steps with the squared norms of the gradient, before `untraced`. Empty without --noise-scale.
struct NormSteps {
  UntracedSteps steps;
  // The rank's squared norm before the all-reduce (on one rank the mean over its micro-batches), and after it. One of
  // each per step; nullopt: unknown or not finite.
  std::vector<std::optional<double>> local_sqr, whole_sqr;
};

// Numbers are 0 and texts are empty if they are unknown.
struct JobFacts {
  // The batch of a forward is the first dimension of the first tensor that it received. `batch` is the most frequent
  // one. If it varies: the smallest, the largest, the number of forwards, and the number of forwards with another
  // batch.
  std::int64_t batch = 0, batch_least = 0, batch_most = 0, batch_forwards = 0, batch_others = 0;
  std::int64_t accumulation = 0;                          // forwards of DDP in one optimizer step
  std::int64_t parameter_count = 0, parameter_bytes = 0;  // of the parameters that are trained
  std::int64_t threads = 0, cores = 0;                    // intra-op threads; cores that the process may use
  std::int64_t bucket_cap_bytes = 0;
  std::int64_t last_step = 0;  // the last complete traced step; the job may have ended in the next one
  std::optional<bool> find_unused_parameters, gradient_as_bucket_view;
  // The rate of the optimizer's first group of parameters: without its schedule, and in the step before `untraced` if
  // it differs.
  double learning_rate = 0.0, learning_rate_of_step = 0.0;
  std::vector<double> learning_rates;              // of all groups, ascending; empty if they are equal
  std::vector<std::string> other_optimizers;       // that also step
  std::optional<std::pair<double, double>> betas;  // of Adam
  std::string optimizer, host, boot_id, python, torch;
  std::string network;   // identity of the process's network namespace, within one host
  std::string sharding;  // what divides parameters or optimizer state between the ranks
  UntracedSteps untraced;
  NormSteps norms;
};

}  // namespace ddpprof::import
