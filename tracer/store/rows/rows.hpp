// One struct a table, mirroring the schema: what the inserters (inserter.hpp) write.
#pragma once

#include "tracer/store/rows/raw_rows.hpp"      // IWYU pragma: export
#include "tracer/store/rows/result_rows.hpp"   // IWYU pragma: export
#include "tracer/store/rows/run_rows.hpp"      // IWYU pragma: export
#include "tracer/store/rows/summary_rows.hpp"  // IWYU pragma: export
