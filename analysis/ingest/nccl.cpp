#include "analysis/ingest/nccl.hpp"

#include <algorithm>

namespace ddpprof::ingest {

void place_nccl_kernels(ShardTrace& trace) {
  if (trace.nccl_kernels.empty()) {
    trace.api_calls = {};
    return;
  }
  std::vector<CollectiveFact*> launched;
  for (CollectiveFact& collective : trace.collectives)
    if (collective.launch_ns && !collective.start_ns) launched.push_back(&collective);
  std::stable_sort(launched.begin(), launched.end(),
                   [](const CollectiveFact* a, const CollectiveFact* b) { return *a->launch_ns < *b->launch_ns; });
  const auto by_correlation = [](const ApiFact& a, const ApiFact& b) { return a.correlation < b.correlation; };
  std::stable_sort(trace.api_calls.begin(), trace.api_calls.end(), by_correlation);
  for (const NcclKernelFact& kernel : trace.nccl_kernels) {
    // The marks were made once, when the graph was captured: the last one before a launch says nothing of it.
    if (kernel.in_graph) {
      ++trace.graph_collectives;
      continue;
    }
    const auto call = std::lower_bound(trace.api_calls.begin(), trace.api_calls.end(), ApiFact{kernel.correlation, 0},
                                       by_correlation);
    if (call == trace.api_calls.end() || call->correlation != kernel.correlation) continue;
    const auto after = std::upper_bound(launched.begin(), launched.end(), call->start_ns,
                                        [](std::int64_t t, const CollectiveFact* c) { return t < *c->launch_ns; });
    if (after == launched.begin()) continue;
    CollectiveFact& collective = **std::prev(after);
    // NCCL may split one collective into several kernels.
    collective.start_ns = std::min(collective.start_ns.value_or(kernel.time.start_ns), kernel.time.start_ns);
    collective.end_ns = std::max(collective.end_ns.value_or(kernel.time.end_ns), kernel.time.end_ns);
  }
  trace.api_calls = {};
}

}  // namespace ddpprof::ingest
