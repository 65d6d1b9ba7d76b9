// Which of CUPTI's activities lie in the windows that are kept: those that begin in one.
#pragma once

#include <type_traits>
#include <variant>
#include <vector>

#include "tracer/record/cupti/decode.hpp"
#include "tracer/record/recorder/recorder.hpp"

namespace ddpprof::record {

// For one buffer of records. Made before any of them is read, it knows all windows that they can tell of.
class ActivityFilter {
 public:
  explicit ActivityFilter(ThreadLog& log)
      : windows_(Recorder::instance().gate().windows(log)),
        last_(!windows_.empty() && windows_.back().off_ns == INT64_MAX) {}
  ~ActivityFilter() { Recorder::instance().gate().count_left_out_activities(left_out_); }
  ActivityFilter(const ActivityFilter&) = delete;
  ActivityFilter& operator=(const ActivityFilter&) = delete;

  bool keeps(const DecodedActivity& decoded) {
    const bool kept = std::visit(
        [&](const auto& record) {
          using Record = std::decay_t<decltype(record)>;
          // Without a time of its own it goes with what came before it: CUPTI puts it beside its call.
          if constexpr (std::is_same_v<Record, trace::CorrelationRecord>)
            return last_;
          else if constexpr (requires { record.header; })
            return last_ = in_windows(windows_, record.header.time_ns);
          else
            return true;  // losses are losses, wherever
        },
        decoded.record);
    left_out_ += kept ? 0 : 1;
    return kept;
  }

 private:
  std::vector<RecordingWindow> windows_;
  bool last_;
  std::uint64_t left_out_ = 0;
};

}  // namespace ddpprof::record
