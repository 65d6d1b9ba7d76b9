// One struct per table with the table's columns. inserter.hpp writes them, reader.hpp reads them.
#pragma once

#include "tracer/store/rows/raw_rows.hpp"      // IWYU pragma: export
#include "tracer/store/rows/result_rows.hpp"   // IWYU pragma: export
#include "tracer/store/rows/run_rows.hpp"      // IWYU pragma: export
#include "tracer/store/rows/summary_rows.hpp"  // IWYU pragma: export
