// A fake CUPTI behind the session's interface: it returns the set results and delivers the appended records.
#pragma once

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracer/record/cupti/api.hpp"
#include "tracer/record/shard/clock.hpp"

namespace ddpprof::record {

class FakeCupti final : public CuptiApi {
 public:
  CUptiResult get_version(std::uint32_t& number) override { return number = version, version_result; }
  CUptiResult get_timestamp(std::uint64_t& timestamp_ns) override {
    if (clock_result == CUPTI_SUCCESS) timestamp_ns = static_cast<std::uint64_t>(monotonic_ns()) + clock_ahead_ns;
    return clock_result;
  }
  CUptiResult register_callbacks(CUpti_BuffersCallbackRequestFunc request,
                                 CUpti_BuffersCallbackCompleteFunc complete) override {
    taken_over_by(request, complete);
    return callbacks_result;
  }
  CUptiResult register_timestamp_callback(CUpti_TimestampCallbackFunc function) override {
    if (timestamp_result == CUPTI_SUCCESS) timestamp_ = function;
    return timestamp_result;
  }
  CUptiResult use_system_thread_ids() override { return CUPTI_SUCCESS; }
  CUptiResult enable(CUpti_ActivityKind kind) override {
    const auto refused = refusals.find(kind);
    if (refused != refusals.end()) return refused->second;
    if (enable_result == CUPTI_SUCCESS) enabled.insert(kind);
    if (kind == CUPTI_ACTIVITY_KIND_RUNTIME) disabled_runtime_calls.clear();  // it enables all of its calls
    return enable_result;
  }
  CUptiResult enable_driver_call(CUpti_CallbackId cbid) override { return driver_calls.insert(cbid), driver_result; }
  CUptiResult disable_runtime_call(CUpti_CallbackId cbid) override {
    if (runtime_call_result == CUPTI_SUCCESS) disabled_runtime_calls.insert(cbid);
    return runtime_call_result;
  }
  CUptiResult flush_all(std::uint32_t flag) override {
    {
      const std::lock_guard lock(mutex_);
      ++(flag == 0 ? plain_flushes_ : forced_flushes_);
    }
    if (before_flush) before_flush();
    deliver();
    return flush_result;
  }
  // Like CUPTI's function: steps from record to record; a null record requests the first one.
  CUptiResult next_record(std::uint8_t* buffer, std::size_t valid_bytes, CUpti_Activity** record) override {
    std::size_t next = 0;
    if (*record != nullptr) {
      const auto at = static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(*record) - buffer);
      next = at + size_at_.at(at);
    }
    if (next < valid_bytes && size_at_.contains(next))
      return *record = reinterpret_cast<CUpti_Activity*>(buffer + next), CUPTI_SUCCESS;
    return end_of_buffer;
  }
  // The count of each queue; reading it resets it to 0.
  CUptiResult dropped_records(CUcontext queue, std::uint32_t stream, std::size_t& count) override {
    count = std::exchange(dropped[{queue, stream}], 0);
    return CUPTI_SUCCESS;
  }
  std::string message(CUptiResult result) override { return "fake message " + std::to_string(result); }
  // The driver's call, which is recorded while it is enabled.
  std::optional<int> driver_version() override {
    std::this_thread::sleep_for(std::chrono::milliseconds(driver_call_ms));
    if (driver != 0 && driver_calls.contains(CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion) && records_calls) {
      CUpti_ActivityAPI call{};
      call.kind = CUPTI_ACTIVITY_KIND_DRIVER;
      call.cbid = CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion;
      call.start = call.end = now();
      append(call);
    }
    return driver == 0 ? std::nullopt : std::optional(driver);
  }

  // CUPTI's time, as in its records.
  std::uint64_t now() const {
    return timestamp_ != nullptr ? timestamp_() : static_cast<std::uint64_t>(monotonic_ns()) + clock_ahead_ns;
  }
  template <typename Activity>
  void append(const Activity& activity) {
    const std::lock_guard lock(mutex_);
    pending_.append(reinterpret_cast<const char*>(&activity), sizeof activity);
    sizes_.push_back(sizeof activity);
  }
  // Delivers the appended records without the last `cut` bytes. Does nothing for the next `held_deliveries` calls.
  void deliver(std::size_t cut = 0) {
    if (held_deliveries > 0) {
      --held_deliveries;
      return;
    }
    std::string bytes;
    CUpti_BuffersCallbackRequestFunc request = nullptr;
    CUpti_BuffersCallbackCompleteFunc complete = nullptr;
    {
      const std::lock_guard lock(mutex_);
      request = requested_, complete = completed_;
      if (request == nullptr) return;
      bytes = std::exchange(pending_, {});
      size_at_.clear();
      std::size_t at = 0;
      for (const std::size_t size : std::exchange(sizes_, {})) size_at_[at] = size, at += size;
    }
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0, most = 0;
    request(&buffer, &size, &most);
    if (buffer == nullptr || size < bytes.size()) {
      dropped[{nullptr, 0}] += size_at_.size();
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      buffers_.insert(buffer);
    }
    std::memcpy(buffer, bytes.data(), bytes.size());
    complete(context, 0, buffer, size, bytes.size() - cut);
  }
  // Another profiler of the process registers its callbacks, which replace ours.
  void taken_over_by(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete) {
    const std::lock_guard lock(mutex_);
    requested_ = request, completed_ = complete;
  }
  CUpti_BuffersCallbackRequestFunc requested() const { return requested_; }
  CUpti_BuffersCallbackCompleteFunc completed() const { return completed_; }
  std::size_t different_buffers() {  // that deliver() filled; a buffer that was given back and reused counts once
    const std::lock_guard lock(mutex_);
    return buffers_.size();
  }
  int plain_flushes() {
    const std::lock_guard lock(mutex_);
    return plain_flushes_;
  }
  int forced_flushes() {
    const std::lock_guard lock(mutex_);
    return forced_flushes_;
  }

  std::uint32_t version = 130100;  // the first one with the timestamp callback as its default
  int driver = 13010;              // 0: none
  // A test may change these three while the session's thread runs.
  std::atomic<bool> records_calls{true};
  std::atomic<int> held_deliveries{0};  // like a buffer with a kernel that still runs
  std::atomic<int> driver_call_ms{0};   // how long a call of the driver takes
  CUptiResult version_result = CUPTI_SUCCESS, callbacks_result = CUPTI_SUCCESS, timestamp_result = CUPTI_SUCCESS,
              clock_result = CUPTI_SUCCESS, enable_result = CUPTI_SUCCESS, driver_result = CUPTI_SUCCESS,
              runtime_call_result = CUPTI_SUCCESS, flush_result = CUPTI_SUCCESS,
              end_of_buffer = CUPTI_ERROR_MAX_LIMIT_REACHED;
  std::map<CUpti_ActivityKind, CUptiResult> refusals;
  std::uint64_t clock_ahead_ns = 0;
  std::map<std::pair<CUcontext, std::uint32_t>, std::size_t> dropped;
  CUcontext context = nullptr;  // the context of all buffers
  std::function<void()> before_flush;
  std::set<CUpti_ActivityKind> enabled;
  std::set<CUpti_CallbackId> driver_calls, disabled_runtime_calls;
  CUpti_TimestampCallbackFunc timestamp_ = nullptr;

 private:
  CUpti_BuffersCallbackRequestFunc requested_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc completed_ = nullptr;
  std::mutex mutex_;
  int plain_flushes_ = 0, forced_flushes_ = 0;
  std::string pending_;
  std::vector<std::size_t> sizes_;
  std::unordered_map<std::size_t, std::size_t> size_at_;  // of the buffer that CUPTI has
  std::set<std::uint8_t*> buffers_;
};

}  // namespace ddpprof::record
