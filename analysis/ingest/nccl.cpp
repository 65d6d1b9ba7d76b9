#include "analysis/ingest/nccl.hpp"

#include <algorithm>
#include <set>

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
    // The marks were made once, when the graph was captured. The last mark before a launch is unrelated to it.
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

namespace {

using vocabulary::CollectiveOp;

bool does(const NcclOperationFact& operation, std::int32_t op) {
  switch (static_cast<CollectiveOp>(op)) {
    case CollectiveOp::all_reduce:
    case CollectiveOp::barrier:  // ProcessGroupNCCL implements it as an all-reduce of one element
      return operation.function == "AllReduce";
    case CollectiveOp::broadcast:
      return operation.function == "Broadcast";
    case CollectiveOp::all_gather:
      return operation.function == "AllGather";
    case CollectiveOp::reduce_scatter:
      return operation.function == "ReduceScatter";
    case CollectiveOp::send:
    case CollectiveOp::receive:
    case CollectiveOp::all_to_all:
    case CollectiveOp::other:
      return true;
  }
  return true;
}

// For all-gathers and reduce-scatters NCCL reports the size of one rank's share, the worker the size of the tensor.
bool as_large(const NcclOperationFact& operation, const CollectiveFact& collective) {
  const auto op = static_cast<CollectiveOp>(collective.op);
  const bool sized = op == CollectiveOp::all_reduce || op == CollectiveOp::broadcast ||
                     op == CollectiveOp::all_gather || op == CollectiveOp::reduce_scatter;
  if (operation.bytes == 0 || !sized) return true;
  const bool share = op == CollectiveOp::all_gather || op == CollectiveOp::reduce_scatter;
  return operation.bytes == collective.bytes ||
         (share && operation.ranks > 0 && collective.bytes % operation.ranks == 0 &&
          collective.bytes / operation.ranks == operation.bytes);
}

}  // namespace

void place_nccl_operations(ShardTrace& trace) {
  if (trace.nccl_operations.empty() || trace.collectives.empty()) return;
  std::vector<CollectiveFact*> launched;
  for (CollectiveFact& collective : trace.collectives)
    if (collective.launch_ns && !collective.host_timed) launched.push_back(&collective);
  std::stable_sort(launched.begin(), launched.end(),
                   [](const CollectiveFact* a, const CollectiveFact* b) { return *a->launch_ns < *b->launch_ns; });
  std::set<const CollectiveFact*> told, timed, otherwise;
  for (const NcclOperationFact& operation : trace.nccl_operations) {
    if (operation.message || operation.captured) continue;
    const auto after = std::upper_bound(launched.begin(), launched.end(), operation.time_ns,
                                        [](std::int64_t t, const CollectiveFact* c) { return t < *c->launch_ns; });
    if (after == launched.begin()) continue;
    CollectiveFact& collective = **std::prev(after);
    if (!does(operation, collective.op) || !as_large(operation, collective)) {
      otherwise.insert(&collective);
      continue;
    }
    if (told.insert(&collective).second)
      collective.choice = operation.choice;
    else
      collective.choice.meet(operation.choice);  // NCCL may split one collective
    if (!operation.run || (collective.start_ns && !timed.contains(&collective))) continue;
    timed.insert(&collective);
    collective.start_ns = std::min(collective.start_ns.value_or(operation.run->start_ns), operation.run->start_ns);
    collective.end_ns = std::max(collective.end_ns.value_or(operation.run->end_ns), operation.run->end_ns);
  }
  trace.nccl_disagreements += static_cast<std::int64_t>(otherwise.size());
  trace.nccl_channel_times += static_cast<std::int64_t>(timed.size());
}

}  // namespace ddpprof::ingest
