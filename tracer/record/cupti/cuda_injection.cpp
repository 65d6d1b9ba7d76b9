#include "tracer/record/cupti/cuda_injection.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "tracer/record/recorder/recorder.hpp"

#ifdef DDPPROF_WITH_CUDA
#include "tracer/record/cupti/session.hpp"
#endif

namespace ddpprof::record {
namespace {

std::atomic<bool> recorded{false};
#ifdef DDPPROF_WITH_CUDA
std::atomic<CuptiSession*> session{nullptr};  // never destroyed: CUPTI's threads may call at any time
#endif

void start_once() {
  Recorder& recorder = Recorder::instance();
  if (!recorder.activate()) return;
#ifdef DDPPROF_WITH_CUDA
  std::string error;
  std::unique_ptr<CuptiApi> api = open_cupti(error);
  if (api == nullptr) {
    recorder.diagnose(trace::DiagnosticCode::cupti_unavailable, 1,
                      "libcupti cannot be loaded (" + error +
                          "): install CUPTI of the CUDA version in use, or put its folder into LD_LIBRARY_PATH");
    return;
  }
  session = new CuptiSession(std::move(api));
  CuptiSession::set_current(session);
  const char* detaches = std::getenv("TEARDOWN_CUPTI");  // a variable of Kineto
  if (!session.load()->start({.flush_alone = detaches != nullptr && std::strcmp(detaches, "1") == 0,
                              .timestamps = timestamps_from_environment(),
                              .register_end = [] { std::atexit(finish_cuda_tracing); }}))
    return;
  recorded.store(true, std::memory_order_relaxed);
  // Registered while the driver starts, so they run before the driver's exit handlers.
  std::atexit(finish_cuda_tracing);
  std::at_quick_exit(finish_cuda_tracing);
#else
  recorder.diagnose(trace::DiagnosticCode::cupti_unavailable, 1,
                    "this build has no CUDA part: GPU activity is not recorded; configure with DDPPROF_CUDA=ON");
#endif
}

}  // namespace

void start_cuda_tracing() {
  static std::once_flag once;
  std::call_once(once, start_once);
}

void finish_cuda_tracing() {
#ifdef DDPPROF_WITH_CUDA
  if (gpu_activity_is_recorded()) session.load()->flush();
#endif
}

bool gpu_activity_is_recorded() { return recorded.load(std::memory_order_relaxed); }

}  // namespace ddpprof::record
