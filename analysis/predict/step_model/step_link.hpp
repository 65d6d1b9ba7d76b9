// The link of a training step's all-reduce on the machine of a case, under its change.
#pragma once

#include "analysis/predict/step_model/step_case.hpp"
#include "analysis/predict/step_model/step_parameters.hpp"
#include "simulator/collective/all_reduce.hpp"

namespace ddpprof::fit {

// Returns FormFit::step_link with the case's link between nodes if it has one, and with the change's latency and
// bandwidth; the terms that the change frees are 0. An absolute latency or bandwidth of the change replaces the link
// between nodes.
collective::Link step_link(const StepCase&, const StepParameters&);

// Returns FormFit::turn_s, or 0 if the change frees latency.
double turn_s(const StepCase&, const StepParameters&);

// Returns how much longer the broadcast of buffers takes on this machine and under this change than on the links as
// fitted. The broadcast runs along a tree, and its hops explain its time.
double slower_broadcast_s(const StepCase&, const StepParameters&);

}  // namespace ddpprof::fit
