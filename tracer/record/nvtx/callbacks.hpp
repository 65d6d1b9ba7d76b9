// Fills a module's NVTX tables with this tracer's functions.
#pragma once

#include "tracer/record/nvtx/event.hpp"

namespace ddpprof::record {

// CORE and CORE2 of the module that `get_export_table` belongs to. False when it has no such tables.
bool fill_core_tables(NvtxGetExportTableFunc_t get_export_table);

// The payload extension's slots; modules of other extensions are left as they are.
void fill_extension(nvtxExtModuleInfo_t& module);

}  // namespace ddpprof::record
