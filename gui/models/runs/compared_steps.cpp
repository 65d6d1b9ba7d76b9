#include "gui/models/runs/compared_steps.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "analysis/metrics/lanes/step_lanes.hpp"
#include "analysis/report/tables/compare/compare.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::gui {
namespace {

// A step whose phases and collectives were not recorded is one segment of kind `other`.
bool without_events(const step::StepLanes& lanes) {
  return std::ranges::all_of(lanes.lanes, [](const step::Lane& lane) {
    return std::ranges::all_of(lane.segments,
                               [](const step::Segment& one) { return one.kind == step::SegmentKind::other; });
  });
}

ComparedStep typical_of(store::Database& database, const std::vector<std::int64_t>& measurements) {
  ComparedStep found;
  for (const std::int64_t measurement : measurements) {
    try {
      step::StepLanes lanes = metrics::measured_lanes(database, measurement, std::nullopt);
      if (without_events(lanes) && !lanes.note.empty())
        found.why_not = lanes.note;  // why there are no events
      else
        found.lanes = std::move(lanes);
      return found;
    } catch (const std::invalid_argument& error) {  // a failed repeat
      found.why_not = error.what();
    }
  }
  return found;
}

}  // namespace

ComparedSteps read_compared_steps(const std::filesystem::path& a, const std::filesystem::path& b,
                                  std::size_t configuration) {
  store::Database in_a = store::Database::open_read(a), in_b = store::Database::open_read(b);
  const std::vector<report::ComparedMeasurements> all = report::waterfall_measurements(in_a, in_b);
  if (configuration >= all.size())
    throw std::runtime_error("The files have changed since they were compared. Compare them again.");
  return {typical_of(in_a, all[configuration].a), typical_of(in_b, all[configuration].b)};
}

}  // namespace ddpprof::gui
