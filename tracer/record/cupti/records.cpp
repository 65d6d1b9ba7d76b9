#include "tracer/record/cupti/records.hpp"

#include <algorithm>
#include <variant>

#include "tracer/record/cupti/activity_filter.hpp"
#include "tracer/record/cupti/decode.hpp"
#include "tracer/record/recorder/recorder.hpp"
#include "tracer/record/shard/write.hpp"

namespace ddpprof::record {
namespace {

struct Writer {
  ThreadLog& log;
  Names& names;
  const DecodedActivity& decoded;
  const Window& window;
  ReadBuffer& found;

  // Returns true if the time can be from our clock.
  bool sound(std::int64_t time_ns) const {
    if (time_ns >= window.earliest_ns && time_ns <= window.latest_ns) return true;
    ++found.other_clock;
    return false;
  }
  std::uint32_t name() const { return decoded.name == nullptr ? 0 : names.intern(log, decoded.name); }
  void operator()(const IgnoredActivity&) const {}
  void operator()(const UnknownActivity& activity) const { ++found.unknown, found.unknown_kind = activity.kind; }
  void operator()(const UntimedActivity& activity) const { ++found.untimed, found.untimed_kind = activity.kind; }
  void operator()(const WholeGraph&) const { ++found.whole_graphs; }
  void operator()(const Heartbeat& beat) const {
    if (sound(beat.time_ns)) found.heartbeat_ns = std::max(found.heartbeat_ns, beat.time_ns);
  }
  void operator()(const trace::CorrelationRecord& record) const { write_record(log, record.header.type, 0, 0, record); }
  void operator()(trace::GpuMarkerRecord record) const {
    if (!sound(record.header.time_ns)) return;
    record.domain_name_id = decoded.domain == nullptr ? 0 : names.intern(log, decoded.domain);
    write_record(log, record.header.type, name(), record.header.time_ns, record);
  }
  template <typename Record>
  void operator()(const Record& record) const {
    if (!sound(record.header.time_ns) || !sound(record.end_ns)) return;
    write_record(log, record.header.type, name(), record.header.time_ns, record);
  }
};

}  // namespace

ReadBuffer write_records(CuptiApi& api, ThreadLog& log, std::span<std::uint8_t> buffer, const CuptiClock& clock,
                         const Window& window) {
  ReadBuffer found;
  ActivityFilter filter(log);
  CUpti_Activity* activity = nullptr;
  while ((found.result = api.next_record(buffer.data(), buffer.size(), &activity)) == CUPTI_SUCCESS) {
    if (activity == nullptr) break;
    const auto at = static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(activity) - buffer.data());
    const bool forward = at >= found.read_bytes && at + sizeof(CUpti_ActivityKind) <= buffer.size();
    if (!forward || at + least_bytes(activity->kind) > buffer.size()) break;
    const DecodedActivity decoded = decode(*activity, clock);
    if (filter.keeps(decoded))
      std::visit(Writer{log, Recorder::instance().names(), decoded, window, found}, decoded.record);
    found.read_bytes = at + least_bytes(activity->kind);
  }
  return found;
}

}  // namespace ddpprof::record
