// The run, its machine, and warnings about its numbers.
#pragma once

#include "analysis/report/tables/source.hpp"

namespace ddpprof::report {

// run.cpp
Table run_table(const Source&);
Table versions_table(const Source&);

// notices.cpp
Table notices_table(const Source&);      // warnings and errors, most severe first, including oversubscription
Table diagnostics_table(const Source&);  // all stored rows
// The text of report::profiler_note().
std::string profiler_text(SQLite::Database&);

// Conditions of the machine, and stability of the steps (conditions.cpp).
Table conditions_table(const Source&);
Table stability_table(const Source&);

// Memory of tensors on each device and of the processes (memory.cpp).
Table memory_table(const Source&);

}  // namespace ddpprof::report
