#include "analysis/import/trace/unrecorded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "analysis/import/trace/collectives/kernel_families.hpp"
#include "analysis/import/trace/phase_tally.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::import {
namespace {

std::string device_evidence(const RankTrace& rank, bool host_executes) {
  if (rank.device_events_not_read > 0)
    return fmt::format("events of {} ({}) are in a form that is not read", rank.unread_device,
                       rank.device_events_not_read);
  if (rank.device_launches > 0)
    return fmt::format("the host launched work of devices ({} times, for example {})", rank.device_launches,
                       rank.device_launch);
  if (!host_executes && is_device_backend(rank.backend))
    return fmt::format("the backend {} communicates between devices", rank.backend);
  return {};
}

}  // namespace

std::optional<Note> unrecorded_communication(const RankTrace& rank, bool on_device,
                                             const std::vector<Collective>& collectives,
                                             const std::vector<HostStep>& steps) {
  const bool host_executes =
      std::any_of(collectives.begin(), collectives.end(), [](const Collective& one) { return one.on_host; });
  if (!on_device) {
    const std::string evidence = device_evidence(rank, host_executes);
    if (evidence.empty()) return std::nullopt;
    const std::string devices = rank.devices.empty() ? "" : fmt::format(" ({})", rank.devices.front());
    return Note{ingest::Severity::warning, store::device_not_recorded, 1,
                fmt::format("a job on devices{} whose kernels were not recorded: {}, but the file has no event of a "
                            "device that can be read",
                            devices, evidence),
                "times are those of the host, and communication is unknown. Record the devices as well: "
                "ProfilerActivity.CUDA or XPU; check that CUPTI or ROCTracer works. Of an Ascend NPU, import the trace "
                "of torch.profiler, not trace_view.json"};
  }
  if (!collectives.empty() || rank.world_size == 1) return std::nullopt;
  const bool called = std::any_of(rank.calls.begin(), rank.calls.end(), [](const CollectiveCall& call) {
    return call.outer && call.op != CollectiveOp::barrier && call.group_size != 1;
  });
  if (!called) return std::nullopt;
  return Note{ingest::Severity::warning, store::collective_kernels_unknown,
              static_cast<std::int64_t>(std::count_if(rank.calls.begin(), rank.calls.end(),
                                                      [](const CollectiveCall& call) { return call.outer; })),
              fmt::format("collectives were called ({}), but no kernel of the file belongs to one of them",
                          PhaseTally(rank, steps, collectives).text()),
              "their kernels count as compute, and communication is unknown. Record the host's launches as well "
              "(ProfilerActivity.CPU), which assign kernels to calls"};
}

}  // namespace ddpprof::import
