// What was run, on what machine, and what to know before believing the numbers.
#pragma once

#include "analysis/report/tables/source.hpp"

namespace ddpprof::report {

// run.cpp
Table run_table(const Source&);
Table versions_table(const Source&);

// notices.cpp
Table notices_table(const Source&);      // warnings and errors, most severe first, oversubscription in words
Table diagnostics_table(const Source&);  // every row as stored

// What the machine was like, and how steady the steps were (conditions.cpp).
Table conditions_table(const Source&);
Table stability_table(const Source&);

// Of tensors on each device, and of the processes (memory.cpp).
Table memory_table(const Source&);

}  // namespace ddpprof::report
