#include "tracer/record/cupti_session.hpp"

#include <array>
#include <cstdlib>
#include <string>

#include "tracer/record/clock.hpp"
#include "tracer/record/cupti_decode.hpp"
#include "tracer/record/recorder.hpp"
#include "tracer/record/write.hpp"

namespace ddpprof::record {
namespace {

using trace::DiagnosticCode;

constexpr std::size_t buffer_bytes = 4 * 1024 * 1024;
constexpr std::size_t buffer_alignment = 8;      // CUPTI's requirement
constexpr std::uint32_t flush_period_ms = 1000;  // what a killed process may lose

std::atomic<CuptiSession*> current{nullptr};

void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(buffer_alignment, buffer_bytes));
  *size = *buffer == nullptr ? 0 : buffer_bytes;  // no memory: CUPTI drops, and counts it
  *max_records = 0;
}

void CUPTIAPI buffer_completed(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                               std::size_t valid_bytes) {
  if (CuptiSession* session = current.load(std::memory_order_acquire); session != nullptr && buffer != nullptr) {
    session->consume(context, stream, buffer, valid_bytes);
  }
  std::free(buffer);
}

std::uint64_t CUPTIAPI timestamp() { return static_cast<std::uint64_t>(monotonic_ns()); }

struct Kind {
  CUpti_ActivityKind kind;
  const char* name;
};
constexpr std::array activity_kinds = {
    Kind{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kernels"},
    Kind{CUPTI_ACTIVITY_KIND_MEMCPY, "copies"},
    Kind{CUPTI_ACTIVITY_KIND_MEMCPY2, "peer copies"},
    Kind{CUPTI_ACTIVITY_KIND_MEMSET, "memsets"},
    Kind{CUPTI_ACTIVITY_KIND_RUNTIME, "runtime calls"},
    Kind{CUPTI_ACTIVITY_KIND_MARKER, "markers"},
    Kind{CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, "external correlation"},
    Kind{CUPTI_ACTIVITY_KIND_OVERHEAD, "overhead"},
};
constexpr std::size_t gpu_kinds = 4;  // the first ones: without them there is nothing to show

// Of the driver's calls only launches: kernels that bypass the runtime (Triton, NVRTC) correlate with these.
constexpr std::array launch_calls = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
};

std::string advice(CUptiResult result) {
  switch (static_cast<int>(result)) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "GPU profiling is reserved to administrators here: load the nvidia module with "
             "NVreg_RestrictProfilingToAdminUsers=0, run as root or with CAP_SYS_ADMIN";
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return "another profiler holds CUPTI in this process: switch torch.profiler or Nsight off for this run";
    case CUPTI_ERROR_NOT_INITIALIZED:
      return "the CUDA driver did not start: check that nvidia-smi lists a GPU";
    case CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED:
    case CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED:
      return "an older profiling interface is in use in this process, or this GPU is not supported by this CUPTI";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
      return "the virtual GPU's host does not allow profiling";
    default:
      return "check that CUPTI's version fits the driver (nvidia-smi shows the newest CUDA it can serve)";
  }
}

// Counts of what a buffer held and could not be kept.
struct Losses {
  std::uint64_t unknown = 0, untimed = 0;
  std::uint32_t unknown_kind = 0, untimed_kind = 0;
};

struct Writer {
  ThreadLog& log;
  Names& names;
  const DecodedActivity& decoded;
  Losses& losses;

  std::uint32_t name() const { return decoded.name == nullptr ? 0 : names.intern(log, decoded.name); }
  void operator()(const IgnoredActivity&) const {}
  void operator()(const UnknownActivity& activity) const { ++losses.unknown, losses.unknown_kind = activity.kind; }
  void operator()(const UntimedActivity& activity) const { ++losses.untimed, losses.untimed_kind = activity.kind; }
  void operator()(trace::GpuMarkerRecord record) const {
    record.domain_name_id = decoded.domain == nullptr ? 0 : names.intern(log, decoded.domain);
    write_record(log, record.header.type, name(), record.header.time_ns, record);
  }
  template <typename Record>
  void operator()(const Record& record) const {
    write_record(log, record.header.type, name(), record.header.time_ns, record);
  }
};

}  // namespace

void CuptiSession::set_current(CuptiSession* session) { current.store(session, std::memory_order_release); }

void CuptiSession::refused(const char* what, CUptiResult result) {
  Recorder::instance().diagnose(DiagnosticCode::cupti_unavailable, 1,
                                std::string("CUPTI refused ") + what + " (" + std::to_string(static_cast<int>(result)) +
                                    ", " + api_->message(result) + "): " + advice(result));
}

CuptiClock::Pair CuptiSession::read_pair() {
  // The tightest of a few readings: the middle of the two monotonic ones is then off by half their distance at most.
  CuptiClock::Pair best;
  std::int64_t best_span_ns = INT64_MAX;
  for (int i = 0; i < 5; ++i) {
    std::uint64_t cupti_ns = 0;
    const std::int64_t before_ns = monotonic_ns();
    if (api_->get_timestamp(cupti_ns) != CUPTI_SUCCESS) continue;
    const std::int64_t span_ns = monotonic_ns() - before_ns;
    if (span_ns < best_span_ns)
      best = {static_cast<std::int64_t>(cupti_ns), before_ns + span_ns / 2}, best_span_ns = span_ns;
  }
  return best;
}

bool CuptiSession::start() {
  if (const CUptiResult result = api_->register_callbacks(buffer_requested, buffer_completed);
      result != CUPTI_SUCCESS) {
    refused("its activity buffers", result);
    return false;
  }
  own_clock_ = api_->register_timestamp_callback(timestamp) == CUPTI_SUCCESS;  // CUPTI 11.6 and later
  if (!own_clock_) last_pair_ = read_pair();
  api_->use_system_thread_ids();  // older versions give the low half of pthread_self(): only the lanes' names suffer
  std::size_t enabled_gpu_kinds = 0;
  for (std::size_t i = 0; i < activity_kinds.size(); ++i) {
    const CUptiResult result = api_->enable(activity_kinds[i].kind);
    if (result == CUPTI_SUCCESS) {
      if (i < gpu_kinds) ++enabled_gpu_kinds;
      continue;
    }
    refused(activity_kinds[i].name, result);
    if (i == 0) return false;  // the same reason would be told for each of the others
  }
  for (const CUpti_driver_api_trace_cbid call : launch_calls) {
    const CUptiResult result = api_->enable_driver_call(static_cast<CUpti_CallbackId>(call));
    if (result == CUPTI_ERROR_NOT_SUPPORTED || result == CUPTI_ERROR_INVALID_PARAMETER) continue;  // an older CUPTI
    if (result != CUPTI_SUCCESS) {
      refused("the driver's launch calls", result);
      break;
    }
  }
  api_->flush_period(flush_period_ms);
  return enabled_gpu_kinds > 0;
}

void CuptiSession::consume(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t valid_bytes) {
  if (in_forked_child()) return;
  std::size_t dropped = 0;
  if (api_->dropped_records(context, stream, dropped) == CUPTI_SUCCESS && dropped != 0) {
    Recorder::instance().count_dropped_cupti(dropped);
    Recorder::instance().diagnose(DiagnosticCode::cupti_dropped, dropped,
                                  "CUPTI had no buffer space for these records");
  }
  CuptiClock clock = CuptiClock::identity();
  if (!own_clock_) {
    const std::lock_guard lock(clock_mutex_);
    const CuptiClock::Pair now = read_pair();
    clock = CuptiClock::between(last_pair_, now);
    last_pair_ = now;
  }
  Losses losses;
  {
    const Entry entry;
    if (!entry) return;
    CUpti_Activity* activity = nullptr;
    while (api_->next_record(buffer, valid_bytes, &activity) == CUPTI_SUCCESS) {
      const DecodedActivity decoded = decode(*activity, clock);
      std::visit(Writer{*entry, Recorder::instance().names(), decoded, losses}, decoded.record);
    }
  }
  if (losses.unknown != 0) {
    Recorder::instance().diagnose(
        DiagnosticCode::cupti_unknown_record, losses.unknown,
        "records of a kind this build does not know, the last of kind " + std::to_string(losses.unknown_kind));
  }
  if (losses.untimed != 0) {
    Recorder::instance().count_dropped_cupti(losses.untimed);
    Recorder::instance().diagnose(
        DiagnosticCode::cupti_dropped, losses.untimed,
        "records to which CUPTI gave no times, the last of kind " + std::to_string(losses.untimed_kind));
  }
}

void CuptiSession::flush() {
  if (!in_forked_child()) api_->flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

}  // namespace ddpprof::record
