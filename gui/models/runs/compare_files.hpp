// Two files compared off the interface thread: what `ddpprof compare A.db B.db` prints.
#pragma once

#include <filesystem>

#include "analysis/report/report.hpp"

namespace ddpprof::gui {

// Throws store::DatabaseError naming the file that cannot be read. For any thread.
report::Report compare_files(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace ddpprof::gui
