// Ranges of NVTX as records: which are kept, which level they have, which are steps.
#pragma once

#include <string>

#include "tracer/record/nvtx/event.hpp"
#include "tracer/record/recorder/recorder.hpp"
#include "tracer/record/shard/clock.hpp"

namespace ddpprof::record {

// A range that begins now, while the gate need not be asked: its time is read last, so that the tracer's own time stays
// outside of it, and it is kept without more ado where that is before `kept_ns`. NVTX's return values: the range's
// level, or its id.
int write_push(ThreadLog& log, const Event& event, std::int64_t kept_ns);
std::uint64_t write_range_start(ThreadLog& log, const Event& event, std::int64_t kept_ns);

// … and while it must be asked, after it was.
int push_kept(ThreadLog& log, const Event& event, const Gate::Beginning& beginning);
int push_left_out(ThreadLog& log, std::uint16_t domain, const Gate::Beginning& beginning);
std::uint64_t start_kept(ThreadLog& log, const Event& event, const Gate::Beginning& beginning);
std::uint64_t start_left_out(ThreadLog& log, const Gate::Beginning& beginning);

// `read` makes the event, `name` its name without interning it, in a buffer where it must be made: of what is not kept
// the shard holds nothing.
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

// A mark of `time_ns`.
bool keeps_mark(ThreadLog& log, std::int64_t time_ns);

// Every range that was kept gets its end, whether recording is on or off by then; no other one does. The end of a range
// has no place for a payload: a mark of the same time, still inside the range, carries it.
struct EndPayloads {
  const nvtxPayloadData_t* data = nullptr;
  std::size_t count = 0;
};
// The level of the range, NVTX_NO_PUSH_POP_TRACKING where there is none.
int write_pop(ThreadLog& log, std::uint16_t domain, std::int64_t time_ns, EndPayloads payloads = {});
void write_range_end(ThreadLog& log, std::uint16_t domain, std::uint64_t range_id, std::int64_t time_ns,
                     EndPayloads payloads = {});

}  // namespace ddpprof::record
