// The part of CUPTI's activity API that the tracer needs, behind virtual functions: the library is opened at run time,
// and tests replace it.
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
  // Takes effect only after the kind RUNTIME is enabled: enabling the kind enables all of its calls again.
  virtual CUptiResult disable_runtime_call(CUpti_CallbackId cbid) = 0;
  virtual CUptiResult flush_all(std::uint32_t flag) = 0;
  virtual CUptiResult next_record(std::uint8_t* buffer, std::size_t valid_bytes, CUpti_Activity** record) = 0;
  virtual CUptiResult dropped_records(CUcontext context, std::uint32_t stream, std::size_t& count) = 0;
  virtual std::string message(CUptiResult result) = 0;
  // Returns cuDriverGetVersion of the driver that the process has loaded: the newest CUDA that it supports
  // (major * 1000 + minor * 10). Returns nullopt without a driver. CUPTI can record this call.
  virtual std::optional<int> driver_version() = 0;
};

// Opens, in order of preference: the CUPTI that the process has loaded, the one that fits the loaded CUDA runtime, or
// the newest one that the driver supports. Returns nullptr and sets `error` on failure. Functions that are missing in
// an older CUPTI return CUPTI_ERROR_NOT_SUPPORTED.
std::unique_ptr<CuptiApi> open_cupti(std::string& error);

}  // namespace ddpprof::record
