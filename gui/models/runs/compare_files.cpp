#include "gui/models/runs/compare_files.hpp"

#include "runner/questions/compare.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::gui {

report::Report compare_files(const std::filesystem::path& a, const std::filesystem::path& b,
                             const Cancelled& cancelled) {
  store::Database in_a = store::Database::open_read(a);
  if (cancelled()) return {};
  store::Database in_b = store::Database::open_read(b);
  if (cancelled()) return {};
  return questions::compare(in_a, in_b);
}

}  // namespace ddpprof::gui
