#include "analysis/metrics/step_windows.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <map>
#include <utility>

namespace ddpprof::metrics {

const StepWindows::Window* StepWindows::at(std::int64_t ns) {
  // Try the window of the previous event and the next one first.
  for (std::size_t i = last; i < std::min(last + 2, windows.size()); ++i) {
    if (windows[i].start_ns > ns || ns >= windows[i].end_ns) continue;
    last = i;
    return &windows[i];
  }
  const auto after = std::ranges::upper_bound(windows, ns, {}, &Window::start_ns);
  if (after == windows.begin()) return nullptr;
  last = static_cast<std::size_t>(after - windows.begin()) - 1;
  return ns < windows[last].end_ns ? &windows[last] : nullptr;
}

std::unordered_map<std::int64_t, StepWindows> read_step_windows(
    SQLite::Database& db, const std::vector<const Configuration*>& configurations) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::pair<std::size_t, std::size_t>> places;
  for (std::size_t c = 0; c < configurations.size(); ++c)
    for (std::size_t i = 0; i < configurations[c]->measured.size(); ++i) {
      const RunStep& step = configurations[c]->measured[i];
      places[{step.measurement, step.step}] = {c, i};
    }
  std::unordered_map<std::int64_t, StepWindows> shards;
  SQLite::Statement query(db,
                          "SELECT sh.measurement_id, st.step, sh.id, st.start_ns, st.duration_ns FROM step st JOIN "
                          "shard sh ON sh.id = st.shard_id WHERE st.kind = 'measured' AND sh.raw_kept = 1");
  while (query.executeStep()) {
    const auto place = places.find({query.getColumn(0).getInt64(), query.getColumn(1).getInt64()});
    if (place == places.end()) continue;
    StepWindows& steps = shards[query.getColumn(2).getInt64()];
    steps.configuration = place->second.first;
    const std::int64_t start_ns = query.getColumn(3).getInt64();
    steps.windows.push_back({start_ns, start_ns + query.getColumn(4).getInt64(), place->second.second});
  }
  for (auto& [shard, steps] : shards) std::ranges::sort(steps.windows, {}, &StepWindows::Window::start_ns);
  return shards;
}

}  // namespace ddpprof::metrics
