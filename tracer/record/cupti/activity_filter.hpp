// Selects the CUPTI activities that start inside a recording window.
#pragma once

#include <type_traits>
#include <variant>
#include <vector>

#include "tracer/record/cupti/decode.hpp"
#include "tracer/record/recorder/recorder.hpp"

namespace ddpprof::record {

// Filters one buffer of records. It must be constructed before the buffer is read; it then has all windows in which the
// buffer's activities can start.
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
          // It has no time. CUPTI writes it next to its call, so it follows the decision for the record before it.
          if constexpr (std::is_same_v<Record, trace::CorrelationRecord>)
            return last_;
          else if constexpr (requires { record.header; })
            return last_ = in_windows(windows_, record.header.time_ns);
          else
            return true;  // losses are counted in any case
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
