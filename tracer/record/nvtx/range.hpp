// Writes NVTX ranges as records: decides which are recorded, their level, and which are steps.
#pragma once

#include <string>

#include "tracer/record/nvtx/event.hpp"
#include "tracer/record/recorder/recorder.hpp"
#include "tracer/record/shard/clock.hpp"

namespace ddpprof::record {

// Start a range now. A start before `kept_ns` is recorded without asking the gate. The time is read last, so that the
// tracer's own time is outside the range. Return the range's level, or its id, as NVTX does.
int write_push(ThreadLog& log, const Event& event, std::int64_t kept_ns);
std::uint64_t write_range_start(ThreadLog& log, const Event& event, std::int64_t kept_ns);

// Start a range after the gate has decided.
int push_kept(ThreadLog& log, const Event& event, const Gate::Beginning& beginning);
int push_left_out(ThreadLog& log, std::uint16_t domain, const Gate::Beginning& beginning);
std::uint64_t start_kept(ThreadLog& log, const Event& event, const Gate::Beginning& beginning);
std::uint64_t start_left_out(ThreadLog& log, const Gate::Beginning& beginning);

// `read` returns the event. `name` returns the range's name without interning it, so that a range that is not recorded
// leaves nothing in the shard.
template <typename Name>
Gate::Beginning ask_gate(ThreadLog& log, Name name) {
  Gate& gate = Recorder::instance().gate();
  const std::int64_t time_ns = monotonic_ns();
  if (!gate.watches_steps()) return {gate.admits(log, time_ns)};
  std::string buffer;
  return gate.range_begins(log, name(buffer), time_ns);
}
template <typename Read, typename Name>
int begin_push(ThreadLog& log, std::uint16_t domain, Read read, Name name) {
  const std::int64_t kept_ns = kept_until_ns.load(std::memory_order_relaxed);
  if (kept_ns != INT64_MIN) [[likely]]
    return write_push(log, read(), kept_ns);
  const Gate::Beginning beginning = ask_gate(log, name);
  return beginning.kept ? push_kept(log, read(), beginning) : push_left_out(log, domain, beginning);
}
template <typename Read, typename Name>
std::uint64_t begin_start(ThreadLog& log, Read read, Name name) {
  const std::int64_t kept_ns = kept_until_ns.load(std::memory_order_relaxed);
  if (kept_ns != INT64_MIN) [[likely]]
    return write_range_start(log, read(), kept_ns);
  const Gate::Beginning beginning = ask_gate(log, name);
  return beginning.kept ? start_kept(log, read(), beginning) : start_left_out(log, beginning);
}

// Returns true if a mark at `time_ns` is recorded.
bool keeps_mark(ThreadLog& log, std::int64_t time_ns);

// The end of every recorded range is recorded, also while recording is off. The end of another range never is. The
// record of an end has no payload: a mark of the same time, still inside the range, carries it.
struct EndPayloads {
  const nvtxPayloadData_t* data = nullptr;
  std::size_t count = 0;
};
// Returns the range's level, NVTX_NO_PUSH_POP_TRACKING if no range is open.
int write_pop(ThreadLog& log, std::uint16_t domain, std::int64_t time_ns, EndPayloads payloads = {});
void write_range_end(ThreadLog& log, std::uint16_t domain, std::uint64_t range_id, std::int64_t time_ns,
                     EndPayloads payloads = {});

}  // namespace ddpprof::record
