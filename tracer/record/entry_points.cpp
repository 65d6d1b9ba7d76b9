// The exports of the library: the functions that NVTX and the CUDA driver look up in an injected library, and its
// version.
#include "tracer/record/cupti/cuda_injection.hpp"
#include "tracer/record/nvtx/callbacks.hpp"
#include "tracer/record/recorder/recorder.hpp"

#define DDPPROF_EXPORT __attribute__((visibility("default")))

extern "C" {

// For NVTX_INJECTION64_PATH. Every module that uses NVTX calls it at its first annotation. After a return of 0 NVTX
// turns the module's functions into no-ops, which is the cheapest way to record nothing.
DDPPROF_EXPORT int NVTX_API InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  if (get_export_table == nullptr || !ddpprof::record::Recorder::instance().activate()) return 0;
  return ddpprof::record::fill_core_tables(get_export_table) ? 1 : 0;
}

// The same for NVTX's extensions; called once per extension and module.
DDPPROF_EXPORT int NVTX_API InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) {
  if (module == nullptr || !ddpprof::record::Recorder::instance().activate()) return 0;
  ddpprof::record::fill_extension(*module);
  return 1;
}

// For CUDA_INJECTION64_PATH. The driver calls it while it initialises. Always returns 1, as 0 would make the driver
// report a failed injection. Problems are recorded as diagnostics, so that the program runs as before.
DDPPROF_EXPORT int InitializeInjection() {
  ddpprof::record::start_cuda_tracing();
  return 1;
}

// For a process that passes its shard on before it ends: writes all records to the file and marks the shard as closed.
DDPPROF_EXPORT void ddpprof_tracer_finish() {
  ddpprof::record::finish_cuda_tracing();
  ddpprof::record::Recorder::instance().mark_closed();
}

// For `ddpprof doctor`, which compares it with its own version.
DDPPROF_EXPORT const char* ddpprof_tracer_version() { return DDPPROF_VERSION; }
}

namespace {
__attribute__((destructor)) void close_shard() { ddpprof::record::Recorder::instance().mark_closed(); }
}  // namespace
