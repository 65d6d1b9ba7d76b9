// Fills a module's NVTX tables with this tracer's functions.
#pragma once

#include "tracer/record/nvtx/event.hpp"

namespace ddpprof::record {

// Fills CORE and CORE2 of the module that `get_export_table` belongs to. Returns false if it has neither table.
bool fill_core_tables(NvtxGetExportTableFunc_t get_export_table);

// Fills the slots of the payload extension. Modules of other extensions stay unchanged.
void fill_extension(nvtxExtModuleInfo_t& module);

}  // namespace ddpprof::record
