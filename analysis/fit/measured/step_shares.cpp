#include "analysis/fit/measured/step_shares.hpp"

#include <algorithm>

namespace ddpprof::fit {

StepShares shares_of(const StepInfo& step, bool ddp, bool several) {
  std::int64_t outside_ns = 0;  // of compute
  if (!ddp)
    outside_ns = step.communication_ns > 0 ? step.exposed_ns : step.copy_ns;
  else if (several)
    outside_ns = step.exposed_ns;
  outside_ns = std::min(outside_ns, step.duration_ns);
  const std::int64_t skew_ns = ddp ? std::min(step.skew_ns, outside_ns) : 0;
  const std::int64_t passes_ns = step.forward_ns + step.backward_ns + step.optimizer_ns;
  const std::int64_t compute_ns =
      std::min(step.compute_ns > 0 ? step.compute_ns : passes_ns, step.duration_ns - outside_ns);
  const std::int64_t other_ns = step.duration_ns - outside_ns - compute_ns;
  const std::int64_t host_ns = std::min(step.device_idle_ns.value_or(0), other_ns);
  const auto share = [&](std::int64_t part_ns) {
    return static_cast<double>(part_ns) / static_cast<double>(step.duration_ns);
  };
  return {.compute = share(compute_ns),
          .exposed = share(outside_ns - skew_ns),
          .skew = share(skew_ns),
          .host = share(host_ns),
          .other = share(other_ns - host_ns),
          .input = share(std::min(step.data_ns, other_ns - host_ns))};
}

StepShares mean_of(const std::vector<StepShares>& all) {
  StepShares mean;
  for (const StepShares& one : all)
    for (double StepShares::*part : {&StepShares::compute, &StepShares::exposed, &StepShares::skew, &StepShares::host,
                                     &StepShares::other, &StepShares::input})
      mean.*part += one.*part / static_cast<double>(all.size());
  return mean;
}

}  // namespace ddpprof::fit
