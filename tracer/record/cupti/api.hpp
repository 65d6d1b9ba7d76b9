// CUPTI's activity API, as far as the tracer needs it, behind virtual functions: the library is opened at run time, and
// tests put another one in its place.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace ddpprof::record {

class CuptiApi {
 public:
  virtual ~CuptiApi() = default;
  virtual CUptiResult get_version(std::uint32_t& version) = 0;
  virtual CUptiResult get_timestamp(std::uint64_t& timestamp_ns) = 0;
  virtual CUptiResult register_callbacks(CUpti_BuffersCallbackRequestFunc requested,
                                         CUpti_BuffersCallbackCompleteFunc completed) = 0;
  virtual CUptiResult register_timestamp_callback(CUpti_TimestampCallbackFunc function) = 0;
  virtual CUptiResult use_system_thread_ids() = 0;
  virtual CUptiResult enable(CUpti_ActivityKind kind) = 0;
  virtual CUptiResult enable_driver_call(CUpti_CallbackId cbid) = 0;
  virtual CUptiResult flush_all(std::uint32_t flag) = 0;
  virtual CUptiResult flush_period(std::uint32_t milliseconds) = 0;
  virtual CUptiResult next_record(std::uint8_t* buffer, std::size_t valid_bytes, CUpti_Activity** record) = 0;
  virtual CUptiResult dropped_records(CUcontext context, std::uint32_t stream, std::size_t& count) = 0;
  virtual std::string message(CUptiResult result) = 0;
  // cuDriverGetVersion of the driver that the process has loaded: the newest CUDA that it runs (major * 1000 +
  // minor * 10); nothing without a driver. The call is one that CUPTI can record.
  virtual std::optional<int> driver_version() = 0;
};

// The CUPTI that the process already has, else the one that fits the CUDA runtime it has, else the newest that can be
// found and that the driver can serve. nullptr with `error` set when there is none. Functions that an older CUPTI lacks
// answer CUPTI_ERROR_NOT_SUPPORTED.
std::unique_ptr<CuptiApi> open_cupti(std::string& error);

}  // namespace ddpprof::record
