#include "gui/models/runs/compare_files.hpp"

#include "runner/scenario_queries/compare.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::gui {

report::Report compare_files(const std::filesystem::path& a, const std::filesystem::path& b,
                             const std::function<bool()>& stop) {
  const auto stopped = [&stop] { return stop && stop(); };
  if (stopped()) return {};
  store::Database in_a = store::Database::open_read(a);
  if (stopped()) return {};
  store::Database in_b = store::Database::open_read(b);
  return scenario_queries::compare(in_a, in_b, stop);
}

}  // namespace ddpprof::gui
