#include "tracer/record/cupti/session.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "tracer/format/cupti_versions.hpp"
#include "tracer/record/cupti/records.hpp"
#include "tracer/record/recorder/recorder.hpp"
#include "tracer/record/shard/clock.hpp"

namespace ddpprof::record {
namespace {

using trace::DiagnosticCode;

constexpr std::int64_t second_ns = 1'000'000'000;
// The error of the clock conversions is far smaller, the difference to another clock far larger.
constexpr std::int64_t clock_tolerance_ns = 60 * second_ns;
constexpr std::int64_t beat_tolerance_ns = second_ns / 20;
// Numbers of unanswered flushes in a row. A time would be wrong after the process was stopped, or on a busy machine.
constexpr int flushes_until_silent = 20;  // from then on CUPTI is not flushed periodically
constexpr int flushes_until_left = 8;     // from then on CUPTI is not flushed at the end of the process
constexpr int most_ends = 1000;           // registrations of the end: 32 bytes each

std::atomic<CuptiSession*> current{nullptr};

void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  CuptiSession* session = current.load(std::memory_order_acquire);
  *size = 0;
  *buffer = session == nullptr ? nullptr : session->request(*size);  // nullptr: CUPTI drops and counts the records
  *max_records = 0;
}

void CUPTIAPI buffer_completed(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                               std::size_t valid_bytes) {
  if (CuptiSession* session = current.load(std::memory_order_acquire); session != nullptr && buffer != nullptr)
    session->complete(context, stream, buffer, valid_bytes);
}

std::uint64_t CUPTIAPI timestamp() {
  const CuptiSession* session = current.load(std::memory_order_acquire);
  return session == nullptr ? static_cast<std::uint64_t>(realtime_ns()) : session->timestamp();
}

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

// The recorded driver calls: launches, because kernels that bypass the runtime (Triton, NVRTC) correlate with them, and
// the heartbeat.
constexpr std::array launch_calls = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion,  // the heartbeat
};

// Runtime calls that are not recorded. PyTorch makes them far more often than launches, and no report needs them.
constexpr std::array skipped_calls = {
    CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020,          CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020,    CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamIsCapturing_v10000, CUPTI_RUNTIME_TRACE_CBID_cudaStreamIsCapturing_ptsz_v10000,
};

std::string seconds(std::int64_t ns) {
  return std::to_string(ns / second_ns) + "." + std::to_string(ns % second_ns * 10 / second_ns);
}

}  // namespace

CuptiSession::CuptiSession(std::unique_ptr<CuptiApi> api, CuptiTimes times) : api_(std::move(api)), times_(times) {}

void CuptiSession::set_current(CuptiSession* session) { current.store(session, std::memory_order_release); }

std::uint64_t CuptiSession::timestamp() const { return static_cast<std::uint64_t>(monotonic_ns() + ahead_ns_); }

std::uint8_t* CuptiSession::request(std::size_t& size) {
  std::uint8_t* buffer = buffers_.take(limited_);
  size = buffer == nullptr ? 0 : CuptiBuffers::bytes;
  return buffer;
}

void CuptiSession::refused(const char* what, CUptiResult result, DiagnosticCode code) {
  const std::string versions = describe(versions_);
  Recorder::instance().diagnose(code, 1,
                                std::string("CUPTI refused ") + what + " (" + std::to_string(static_cast<int>(result)) +
                                    ", " + api_->message(result) + (versions.empty() ? "" : "; " + versions) +
                                    "): " + advice(result, versions_));
}

// Returns {0, 0} if CUPTI's clock cannot be read.
CuptiClock::Pair CuptiSession::read_pair() {
  // Uses the closest of a few readings. The error is normally below a microsecond. It is at most half of the shortest
  // reading, which is the distance of its two monotonic readings.
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

CuptiClock CuptiSession::clock() {
  if (own_clock_) return CuptiClock::ahead(ahead_ns_);
  const CuptiClock::Pair now = read_pair();  // no lock is held while CUPTI is called
  const std::lock_guard lock(clock_mutex_);
  if (now.monotonic_ns == 0) return CuptiClock::between(last_pair_, last_pair_);  // the clock could not be read
  const CuptiClock clock = CuptiClock::between(last_pair_, now);
  // An earlier pair is kept until the next one is far enough from it to give the rate. Only CLOCK_MONOTONIC measures
  // this distance: CUPTI's clock may be set back, and is then earlier than in the earlier pair.
  if (now.monotonic_ns - last_pair_.monotonic_ns >= CuptiClock::least_distance_ns) last_pair_ = now;
  return clock;
}

bool CuptiSession::start(const CuptiOptions& options) {
  flush_alone_ = options.flush_alone;
  register_end_ = options.register_end;
  started_ns_ = monotonic_ns();
  // Makes our timestamps equal to CUPTI's own clock, which another profiler of the process may expect.
  ahead_ns_ = realtime_ns() - monotonic_ns();
  std::uint32_t number = 0;
  if (api_->get_version(number) == CUPTI_SUCCESS) versions_.cupti = number;
  versions_.driver = api_->driver_version();
  limited_ = versions_.cupti.value_or(0) >= trace::first_cupti_with_refusable_buffers;
  if (versions_.cupti && *versions_.cupti < trace::oldest_cupti) {
    Recorder::instance().diagnose(DiagnosticCode::cupti_unavailable, 1,
                                  describe(versions_) +
                                      " is too old: its records have another layout. Put the CUPTI "
                                      "of CUDA 11.0 or later first in LD_LIBRARY_PATH");
    return false;
  }
  if (const CUptiResult result = api_->register_callbacks(buffer_requested, buffer_completed);
      result != CUPTI_SUCCESS) {
    refused("its activity buffers", result, DiagnosticCode::cupti_unavailable);
    return false;
  }
  const bool callback = options.timestamps.value_or(default_timestamps(versions_.cupti)) == CuptiTimestamps::callback;
  own_clock_ = callback && api_->register_timestamp_callback(record::timestamp) == CUPTI_SUCCESS;  // since CUPTI 11.6
  if (!own_clock_) last_pair_ = read_pair();
  api_->use_system_thread_ids();  // without it: the low half of pthread_self(), which only affects names of lanes
  if (!enable()) return false;
  std::string timestamps = to_string(own_clock_ ? CuptiTimestamps::callback : CuptiTimestamps::paired);
  if (callback && !own_clock_) timestamps += " (callback was refused)";
  Recorder::instance().diagnose(DiagnosticCode::cupti_timestamps, 1, timestamps + "; " + describe(versions_));
  flusher_ = std::make_unique<CuptiFlusher>(
      times_.period, [this] { tick(); }, [this] { last_flush(); });
  return true;
}

bool CuptiSession::enable() {
  for (std::size_t i = 0; i < activity_kinds.size(); ++i) {
    const CUptiResult result = api_->enable(activity_kinds[i].kind);
    if (result == CUPTI_SUCCESS) continue;
    refused(activity_kinds[i].name, result,
            i == 0 ? DiagnosticCode::cupti_unavailable : DiagnosticCode::cupti_incomplete);
    if (i == 0) return false;  // the other kinds would fail for the same reason
  }
  skip_runtime_calls();
  for (const CUpti_driver_api_trace_cbid call : launch_calls) {
    const CUptiResult result = api_->enable_driver_call(static_cast<CUpti_CallbackId>(call));
    if (call == CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion) beat_enabled_ = result == CUPTI_SUCCESS;
    if (result == CUPTI_ERROR_NOT_SUPPORTED || result == CUPTI_ERROR_INVALID_PARAMETER) continue;  // an older CUPTI
    if (result != CUPTI_SUCCESS) {
      refused("the driver's launch calls", result, DiagnosticCode::cupti_incomplete);
      break;
    }
  }
  return true;
}

// Older CUPTIs have no such function. A refusal only costs time and space.
void CuptiSession::skip_runtime_calls() {
  for (const CUpti_runtime_api_trace_cbid call : skipped_calls)
    if (api_->disable_runtime_call(static_cast<CUpti_CallbackId>(call)) == CUPTI_ERROR_NOT_SUPPORTED) return;
}

void CuptiSession::count_dropped(CUcontext context, std::uint32_t stream) {
  std::size_t dropped = 0;  // since the last call
  if (api_->dropped_records(context, stream, dropped) != CUPTI_SUCCESS || dropped == 0) return;
  dropped_.fetch_add(dropped, std::memory_order_relaxed);
  Recorder::instance().count_dropped_cupti(dropped);
  Recorder::instance().diagnose(DiagnosticCode::cupti_dropped, dropped, "CUPTI had no buffer space for these records");
}

void CuptiSession::complete(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t valid_bytes) {
  if (in_forked_child()) return;
  delivered_ns_.store(monotonic_ns(), std::memory_order_relaxed);
  if (!buffers_.ours(buffer)) {
    foreign_buffers_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  count_dropped(context, stream);
  if (valid_bytes > 0) consume(buffer, std::min(valid_bytes, CuptiBuffers::bytes));
  buffers_.give_back(buffer);
}

void CuptiSession::consume(std::uint8_t* buffer, std::size_t valid_bytes) {
  const CuptiClock times = clock();
  ReadBuffer found;
  {
    const Entry entry;
    if (!entry) return;
    const Window window{started_ns_ - clock_tolerance_ns, monotonic_ns() + clock_tolerance_ns};
    found = write_records(*api_, *entry, {buffer, valid_bytes}, times, window);
  }
  Recorder& recorder = Recorder::instance();
  if (found.heartbeat_ns > beat_seen_ns_.load(std::memory_order_relaxed))
    beat_seen_ns_.store(found.heartbeat_ns, std::memory_order_relaxed);
  foreign_times_.fetch_add(found.other_clock, std::memory_order_relaxed);
  if (found.result != CUPTI_ERROR_MAX_LIMIT_REACHED)
    recorder.diagnose(DiagnosticCode::cupti_incomplete, 1,
                      "a buffer could be read up to byte " + std::to_string(found.read_bytes) + " of " +
                          std::to_string(valid_bytes) + " (" +
                          (found.result == CUPTI_SUCCESS ? "a record is cut off" : api_->message(found.result)) +
                          "): the records after it are missing");
  if (found.unknown != 0)
    recorder.diagnose(DiagnosticCode::cupti_unknown_record, found.unknown,
                      "records of a kind that this build cannot decode, the last one of kind " +
                          std::to_string(found.unknown_kind) + "; " + describe(versions_));
  if (found.whole_graphs != 0)
    recorder.diagnose(DiagnosticCode::cupti_incomplete, found.whole_graphs,
                      "CUDA graphs were recorded as a whole, without their kernels: another tool in this process "
                      "has requested that from CUPTI; switch it off");
  if (found.untimed != 0) {
    recorder.count_dropped_cupti(found.untimed);
    recorder.diagnose(DiagnosticCode::cupti_dropped, found.untimed,
                      "records without a start or an end (still running at the end, or CUPTI had no memory to time "
                      "them), the last one of kind " +
                          std::to_string(found.untimed_kind));
  }
}

// CUPTI records the driver call; we store the time at which it was made.
bool CuptiSession::beat() {
  const std::int64_t now_ns = monotonic_ns();
  if (!api_->driver_version()) return false;
  beat_sent_ns_.store(now_ns, std::memory_order_relaxed);
  return true;
}

void CuptiSession::tick() {
  if (in_forked_child()) return;
  count_unanswered();
  beat();
  if (flush_alone_) return;
  // After a long silence another profiler has CUPTI, and may detach it during our call.
  if (beat_seen_ns_ != 0 && unanswered_ >= flushes_until_silent) return;
  api_->flush_all(0);
  // A flush delivers before it returns. Registered again at the next unanswered flushes, because the other profiler may
  // construct objects at its first buffer.
  if (answered() || unanswered_ >= flushes_until_left || !register_end_ || ends_registered_ == most_ends) return;
  ++ends_registered_;
  register_end_();
}

// CUPTI delivers buffers only to the profiler that registered last. So a buffer after the last heartbeat shows that
// this is still our registration, even if the heartbeat itself is in a buffer that CUPTI has not delivered yet.
bool CuptiSession::answered() const {
  const std::int64_t sent_ns = beat_sent_ns_;
  return sent_ns == 0 || std::max<std::int64_t>(beat_seen_ns_, delivered_ns_) >= sent_ns;
}

void CuptiSession::count_unanswered() { unanswered_ = answered() ? 0 : unanswered_ + 1; }

// Few unanswered flushes have no meaning: older versions of CUPTI record the heartbeat and kernels in one buffer, which
// they do not deliver while one of its kernels runs. Without periodic flushes a heartbeat may stay in CUPTI's buffer.
bool CuptiSession::left_to_another() const {
  return !flush_alone_ && (beat_seen_ns_ != 0 || never_delivered()) && unanswered_ >= flushes_until_left;
}

// A CUPTI that has delivered other records, but no heartbeat, does not record heartbeats.
bool CuptiSession::never_delivered() const { return beat_enabled_ && delivered_ns_ == 0; }

void CuptiSession::last_flush() {
  if (in_forked_child()) return;
  count_unanswered();
  if (!left_to_another()) {
    beat();
    const CUptiResult result = api_->flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    if (result != CUPTI_SUCCESS)
      refused("to deliver its last records at the end of the process", result, DiagnosticCode::cupti_incomplete);
    count_dropped(nullptr, 0);  // records for which no buffer was available
  }
  explain_losses();
}

void CuptiSession::explain_losses() {
  Recorder& recorder = Recorder::instance();
  const std::int64_t sent_ns = beat_sent_ns_, seen_ns = beat_seen_ns_;
  if (seen_ns != 0 && seen_ns + beat_tolerance_ns < sent_ns && dropped_ == 0)
    recorder.diagnose(DiagnosticCode::cupti_incomplete, 1,
                      "CUPTI's records stopped coming " + seconds(seen_ns - started_ns_) + " s after the start, " +
                          seconds(monotonic_ns() - seen_ns) +
                          " s before the end: another profiler in this process took CUPTI over or switched it off "
                          "(torch.profiler does both); switch it off for this run");
  if (never_delivered() && unanswered_ > 0)
    recorder.diagnose(DiagnosticCode::cupti_incomplete, 1,
                      "CUPTI delivered no records in the " + seconds(monotonic_ns() - started_ns_) +
                          " s of this process, not even those of the tracer's own calls: another profiler in this "
                          "process took CUPTI over at the start (torch.profiler does); switch it off for this run");
  if (foreign_buffers_ != 0)
    recorder.diagnose(DiagnosticCode::cupti_incomplete, foreign_buffers_,
                      "another profiler in this process used CUPTI before: its buffers arrived here and "
                      "were not touched. Its records may be incomplete; switch it off for this run");
  if (foreign_times_ != 0) {
    recorder.count_dropped_cupti(foreign_times_);
    recorder.diagnose(DiagnosticCode::cupti_dropped, foreign_times_,
                      "records whose times are from another clock, which another profiler in this process has set "
                      "(torch.profiler does); switch it off for this run");
  }
}

void CuptiSession::flush() {
  if (in_forked_child() || flusher_ == nullptr) return;
  if (!flusher_->runs()) return last_flush();  // no thread could be started
  if (flusher_->finish(times_.end)) return;
  Recorder::instance().diagnose(DiagnosticCode::cupti_incomplete, 1,
                                "CUPTI did not answer within " + std::to_string(times_.end.count() / 1000) +
                                    " s at the end of the process: its last records are missing. The usual reason is "
                                    "a driver that hangs (see the kernel's log, dmesg)");
}

}  // namespace ddpprof::record
