// What the library exports: the functions that NVTX and the CUDA driver look for in an injected library, and its
// version.
#include "tracer/record/cupti/cuda_injection.hpp"
#include "tracer/record/nvtx/callbacks.hpp"
#include "tracer/record/recorder/recorder.hpp"

#define DDPPROF_EXPORT __attribute__((visibility("default")))

extern "C" {

// NVTX_INJECTION64_PATH. Called by every module that uses NVTX, at its first annotation. 0: NVTX turns that module's
// functions into no-ops, which is the cheapest way to record nothing.
DDPPROF_EXPORT int NVTX_API InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  if (get_export_table == nullptr || !ddpprof::record::Recorder::instance().activate()) return 0;
  return ddpprof::record::fill_core_tables(get_export_table) ? 1 : 0;
}

// The same for NVTX's extensions, once for each extension and module.
DDPPROF_EXPORT int NVTX_API InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) {
  if (module == nullptr || !ddpprof::record::Recorder::instance().activate()) return 0;
  ddpprof::record::fill_extension(*module);
  return 1;
}

// CUDA_INJECTION64_PATH. Called by the driver while it initialises. 0 would make it report a failed injection: a
// program must run as before, so what is missing becomes a diagnostic and the answer is always 1.
DDPPROF_EXPORT int InitializeInjection() {
  ddpprof::record::start_cuda_tracing();
  return 1;
}

// For a process that hands its shard on before it ends: what was recorded is in the file, and the shard counts as
// closed.
DDPPROF_EXPORT void ddpprof_tracer_finish() {
  ddpprof::record::finish_cuda_tracing();
  ddpprof::record::Recorder::instance().mark_closed();
}

// For `ddpprof doctor`: whether this library belongs to the program that would inject it.
DDPPROF_EXPORT const char* ddpprof_tracer_version() { return DDPPROF_VERSION; }
}

namespace {
__attribute__((destructor)) void close_shard() { ddpprof::record::Recorder::instance().mark_closed(); }
}  // namespace
