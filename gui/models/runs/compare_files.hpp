// Two files compared off the interface thread: what `ddpprof compare A.db B.db` prints.
#pragma once

#include <filesystem>
#include <functional>

#include "analysis/report/report.hpp"

namespace ddpprof::gui {

// Throws store::DatabaseError naming the file that cannot be read. For any thread. Empty once `stop`, which is asked
// before each part of the work, says so.
report::Report compare_files(const std::filesystem::path& a, const std::filesystem::path& b,
                             const std::function<bool()>& stop = {});

}  // namespace ddpprof::gui
