// Compares two files off the interface thread, as `ddpprof compare A.db B.db` does.
#pragma once

#include <filesystem>
#include <functional>

#include "analysis/report/report.hpp"

namespace ddpprof::gui {

// Throws store::DatabaseError, naming the file that cannot be read. Thread-safe. Calls `stop` before each part of the
// work; returns an empty report once `stop` returns true.
report::Report compare_files(const std::filesystem::path& a, const std::filesystem::path& b,
                             const std::function<bool()>& stop = {});

}  // namespace ddpprof::gui
