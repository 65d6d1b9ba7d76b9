#include "analysis/import/trace/steps/lost_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ddpprof::import {
namespace {

struct StepKernels {
  std::int64_t recorded = 0, lost = 0;
};

std::vector<StepKernels> kernels_of_steps(const SliceStore& slices, const std::vector<HostStep>& steps) {
  std::vector<StepKernels> kernels(steps.size());
  std::size_t last = 0;  // most launches are in the step of the one before
  const auto inside = [&](std::size_t i, std::int64_t at_ns) {
    return steps[i].time.start_ns <= at_ns && at_ns < steps[i].time.end_ns;
  };
  const auto at = [&](std::int64_t launch_ns) -> StepKernels* {
    if (!inside(last, launch_ns)) {
      const auto start_ns = [](const HostStep& step) { return step.time.start_ns; };
      const auto after = std::ranges::upper_bound(steps, launch_ns, {}, start_ns);
      if (after == steps.begin()) return nullptr;
      last = static_cast<std::size_t>(after - steps.begin()) - 1;
    }
    return inside(last, launch_ns) ? &kernels[last] : nullptr;
  };
  slices.for_each_lost_launch([&](std::int64_t launch_ns) {
    if (StepKernels* step = at(launch_ns)) ++step->lost;
  });
  slices.for_each([&](const Slice& slice) {
    if (slice.work != Work::compute && slice.work != Work::communication) return;
    if (StepKernels* step = at(slice.launch_ns)) ++step->recorded;
  });
  return kernels;
}

}  // namespace

std::optional<Note> note_on_lost_kernels(const SliceStore& slices, const std::vector<HostStep>& steps) {
  if (steps.empty() || !slices.any_lost_launch()) return std::nullopt;
  std::int64_t lost = 0, all = 0, cut = 0, empty = 0;
  for (const StepKernels& step : kernels_of_steps(slices, steps)) {
    lost += step.lost;
    all += step.lost + step.recorded;
    cut += step.lost > 0 ? 1 : 0;
    empty += step.lost > 0 && step.recorded == 0 ? 1 : 0;
  }
  constexpr std::int64_t few = 2;  // a single one may be an invalid event, which is reported as such
  if (empty == 0 && (lost < few || 100 * lost < all)) return std::nullopt;
  return Note{ingest::Severity::warning, "kernels_lost", lost,
              fmt::format("{} of the {} kernels that the host launched in steps are missing ({:.0f} %), in {} of {} "
                          "steps{}: the profiler dropped them, it stopped before they ran, the file is damaged, or they "
                          "were captured into a CUDA graph",
                          lost, all, 100.0 * static_cast<double>(lost) / static_cast<double>(all), cut, steps.size(),
                          empty > 0 ? fmt::format(", {} of them without any", empty) : ""),
              "nothing is corrected: compute, communication and step times may be too low, and idle times of devices "
              "too high. Record fewer steps, without record_shapes, with_stack and profile_memory, or with a larger "
              "buffer of the profiler"};
}

}  // namespace ddpprof::import
