// Communication that a job did, but whose times the trace does not have.
#pragma once

#include <optional>
#include <vector>

#include "analysis/import/trace/collectives/collectives.hpp"
#include "analysis/import/trace/training.hpp"

namespace ddpprof::import {

// Returns the warning
// - store::device_not_recorded, if the job used devices and the trace has no event of them. Evidence: launches of
//   kernels, events of devices in a form that is not read, a backend of devices;
// - store::collective_kernels_unknown, if collectives between ranks were called, and the trace has neither a kernel nor
//   a thread that executed one.
// None if the communication's times are known, or if the rank did not communicate.
std::optional<Note> unrecorded_communication(const RankTrace&, bool on_device, const std::vector<Collective>&,
                                             const std::vector<HostStep>&);

}  // namespace ddpprof::import
