// One struct a table, mirroring the schema: what the inserters (inserter.hpp) write.
#pragma once

#include "tracer/store/raw_rows.hpp"      // IWYU pragma: export
#include "tracer/store/result_rows.hpp"   // IWYU pragma: export
#include "tracer/store/run_rows.hpp"      // IWYU pragma: export
#include "tracer/store/summary_rows.hpp"  // IWYU pragma: export
