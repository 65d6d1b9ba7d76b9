// Two files compared off the interface thread: what `ddpprof compare A.db B.db` prints.
#pragma once

#include <filesystem>

#include "analysis/report/report.hpp"
#include "gui/models/jobs.hpp"

namespace ddpprof::gui {

// Throws store::DatabaseError naming the file that cannot be read. For any thread. Empty when it was cancelled before
// both were open.
report::Report compare_files(const std::filesystem::path& a, const std::filesystem::path& b, const Cancelled& = {});

}  // namespace ddpprof::gui
