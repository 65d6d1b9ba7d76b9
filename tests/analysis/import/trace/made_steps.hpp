// Steps with collectives at given times, and the parallelism detected from them.
#pragma once

#include <algorithm>
#include <vector>

#include "analysis/import/trace/collectives/gradient_group.hpp"
#include "analysis/import/trace/parallelism.hpp"

namespace ddpprof::import {

// Steps of 1000 ns: forward from 100, backward from 400 to 800, optimizer from 900.
struct MadeSteps {
  RankTrace rank{SortOptions{}};
  std::vector<HostStep> steps;
  std::vector<Collective> collectives;
  std::int64_t devices = 1;

  explicit MadeSteps(std::int64_t count = 3) {
    rank.rank = 0;
    rank.world_size = 8;
    for (std::int64_t i = 0; i < count; ++i) {
      HostStep step;
      step.number = i;
      step.time = {1000 * i, 1000 * (i + 1)};
      step.passes = {{{1000 * i + 100, 1000 * i + 400}, {1000 * i + 400, 1000 * i + 800}}};
      step.optimizers = {{1000 * i + 900, 1000 * i + 950}};
      steps.push_back(step);
    }
  }
  // Adds a run to every step, at this time after the step's start.
  MadeSteps& run(CollectiveOp op, std::int64_t at_ns, std::int64_t bytes = 1'000'000, std::int64_t group_size = 8,
                 std::int64_t lasts_ns = 10) {
    for (const HostStep& step : steps) {
      Collective one;
      one.op = op;
      one.launch_ns = step.time.start_ns + at_ns;
      one.run = Span{one.launch_ns, one.launch_ns + lasts_ns};
      one.bytes = bytes;
      one.group_size = group_size;
      collectives.push_back(one);
    }
    return *this;
  }
  // A run whose size was not recorded.
  MadeSteps& unsized(CollectiveOp op, std::int64_t at_ns, std::int64_t lasts_ns) {
    return run(op, at_ns, 0, 8, lasts_ns);
  }
  MadeSteps& call(CollectiveOp op, std::int64_t at_ns) {
    for (const HostStep& step : steps) {
      CollectiveCall one;
      one.op = op;
      one.time = {step.time.start_ns + at_ns, step.time.start_ns + at_ns + 1};
      rank.calls.push_back(one);
    }
    return *this;
  }
  Recognised recognised() {
    std::stable_sort(collectives.begin(), collectives.end(),
                     [](const Collective& a, const Collective& b) { return a.launch_ns < b.launch_ns; });
    mark_gradients(rank, steps, collectives);
    return recognise(rank, steps, collectives, devices);
  }
};

}  // namespace ddpprof::import
