#include "tracer/record/nvtx/range.hpp"

#include <algorithm>

#include "tracer/record/recorder/recorder.hpp"
#include "tracer/record/shard/clock.hpp"
#include "tracer/record/shard/write.hpp"

namespace ddpprof::record {
namespace {

using trace::RecordType;

// Flags in the ids of start/end ranges, for the thread that ends the range.
constexpr std::uint64_t left_out_bit = std::uint64_t{1} << 62;
constexpr std::uint64_t step_bit = std::uint64_t{1} << 61;

Gate& gate() { return Recorder::instance().gate(); }

void write_step(ThreadLog& log, std::int64_t number, std::int64_t time_ns) {
  trace::StepRecord record{};
  record.number = number;
  write_record(log, RecordType::step, 0, time_ns, record);
}

int leave_out_push(ThreadLog::Depth& depth) {
  const std::int32_t level = depth.open++;
  if (!depth.left_out.empty() && depth.left_out.back().last == level)
    depth.left_out.back().last = depth.open;
  else
    depth.left_out.push_back({level, depth.open});
  depth.floor = depth.open;
  return depth.inherited + level;
}

// The push that was just counted in `depth` starts a step.
void remember_step(ThreadLog& log, std::uint16_t domain, ThreadLog::Depth& depth, const Gate::Beginning& beginning) {
  log.step() = {beginning.loop, beginning.number, domain, depth.open - 1};
  depth.floor = depth.open;
}

// A step and the window that it opens start at the same time, so that later events of other threads are inside the
// step.
std::int64_t begin_ns(const Gate::Beginning& beginning) {
  return beginning.loop != nullptr ? beginning.time_ns : monotonic_ns();
}

void keep_payloads(ThreadLog& log, std::uint16_t domain, EndPayloads payloads, std::int64_t time_ns) {
  if (payloads.count == 0) return;
  Event event = read_payloads(log, domain, payloads.data, payloads.count);
  if (event.name_id == 0) event.name_id = Recorder::instance().names().intern(log, "nvtx.end_payload");
  write_event(log, RecordType::mark, event, time_ns);
}

void write_pop_record(ThreadLog& log, std::uint16_t domain, std::int64_t time_ns, EndPayloads payloads) {
  keep_payloads(log, domain, payloads, time_ns);
  trace::PopRecord record{};
  record.domain = domain;
  write_record(log, RecordType::pop, 0, time_ns, record);
}

// Handles the rare pops: no range is open, the range was not recorded, or the range is a step.
int pop_special(ThreadLog& log, std::uint16_t domain, ThreadLog::Depth& depth, std::int64_t time_ns,
                EndPayloads payloads) {
  if (depth.open == 0) {
    if (payloads.count != 0 && keeps_mark(log, time_ns)) keep_payloads(log, domain, payloads, time_ns);
    if (depth.inherited > 0) return --depth.inherited;  // opened before fork(): it is in the parent's shard
    const std::uint32_t detail = Recorder::instance().names().intern(log, "pop without a push");
    write_diagnostic(log, trace::DiagnosticCode::unbalanced_pop, 1, detail, time_ns);
    return NVTX_NO_PUSH_POP_TRACKING;
  }
  if (depth.top_left_out()) {
    ThreadLog::Depth::Run& run = depth.left_out.back();
    if (--run.last == run.first) depth.left_out.pop_back();
  } else {
    write_pop_record(log, domain, time_ns, payloads);
  }
  const std::int32_t level = --depth.open;
  ThreadLog::Step& step = log.step();
  if (step.loop != nullptr && step.domain == domain && step.level == level) {
    gate().step_ends(log, step.loop, step.number, time_ns);
    step.loop = nullptr;
  }
  const std::int32_t left_out = depth.left_out.empty() ? 0 : depth.left_out.back().last;
  depth.floor = std::max(left_out, step.loop != nullptr && step.domain == domain ? step.level + 1 : 0);
  return depth.inherited + level;
}

trace::RangeStartRecord start_of(const Event& event, std::uint64_t range_id) {
  trace::RangeStartRecord record{};
  record.event = record_of(event);
  record.event.header.type = RecordType::range_start;
  record.event.header.size_bytes = sizeof record;
  record.range_id = range_id;
  return record;
}

}  // namespace

bool keeps_mark(ThreadLog& log, std::int64_t time_ns) {
  if (time_ns < kept_until_ns.load(std::memory_order_relaxed)) [[likely]]
    return true;
  return gate().admits(log, time_ns);
}

int write_push(ThreadLog& log, const Event& event, std::int64_t kept_ns) {
  ThreadLog::Depth& depth = log.depth(event.domain);
  const std::int64_t time_ns = monotonic_ns();
  if (time_ns >= kept_ns && !gate().admits(log, time_ns)) [[unlikely]]
    return leave_out_push(depth);
  write_event(log, RecordType::push, event, time_ns);
  return depth.inherited + depth.open++;
}

int push_kept(ThreadLog& log, const Event& event, const Gate::Beginning& beginning) {
  ThreadLog::Depth& depth = log.depth(event.domain);
  const std::int64_t time_ns = begin_ns(beginning);
  write_event(log, RecordType::push, event, time_ns);
  const std::int32_t level = depth.open++;
  if (beginning.loop != nullptr) {
    write_step(log, beginning.number, time_ns);
    remember_step(log, event.domain, depth, beginning);
  }
  return depth.inherited + level;
}

int push_left_out(ThreadLog& log, std::uint16_t domain, const Gate::Beginning& beginning) {
  ThreadLog::Depth& depth = log.depth(domain);
  const int level = leave_out_push(depth);
  if (beginning.loop != nullptr) remember_step(log, domain, depth, beginning);
  return level;
}

int write_pop(ThreadLog& log, std::uint16_t domain, std::int64_t time_ns, EndPayloads payloads) {
  ThreadLog::Depth& depth = log.depth(domain);
  if (depth.open <= depth.floor) [[unlikely]]
    return pop_special(log, domain, depth, time_ns, payloads);
  write_pop_record(log, domain, time_ns, payloads);
  return depth.inherited + --depth.open;
}

std::uint64_t write_range_start(ThreadLog& log, const Event& event, std::int64_t kept_ns) {
  trace::RangeStartRecord record = start_of(event, log.next_range_id());
  const std::int64_t time_ns = record.event.header.time_ns = monotonic_ns();
  if (time_ns >= kept_ns && !gate().admits(log, time_ns)) [[unlikely]]
    return record.range_id | left_out_bit;
  write_with_tail(log, record, event.bytes, event.byte_count, event.kind == trace::PayloadKind::extended);
  return record.range_id;
}

std::uint64_t start_kept(ThreadLog& log, const Event& event, const Gate::Beginning& beginning) {
  const std::uint64_t range_id = log.next_range_id() | (beginning.loop != nullptr ? step_bit : 0);
  if (beginning.loop != nullptr) gate().remember_step_range(range_id, beginning.loop, beginning.number);
  trace::RangeStartRecord record = start_of(event, range_id);
  const std::int64_t time_ns = record.event.header.time_ns = begin_ns(beginning);
  write_with_tail(log, record, event.bytes, event.byte_count, event.kind == trace::PayloadKind::extended);
  if (beginning.loop != nullptr) write_step(log, beginning.number, time_ns);
  return range_id;
}

std::uint64_t start_left_out(ThreadLog& log, const Gate::Beginning& beginning) {
  const std::uint64_t range_id = log.next_range_id() | left_out_bit | (beginning.loop != nullptr ? step_bit : 0);
  if (beginning.loop != nullptr) gate().remember_step_range(range_id, beginning.loop, beginning.number);
  return range_id;
}

void write_range_end(ThreadLog& log, std::uint16_t domain, std::uint64_t range_id, std::int64_t time_ns,
                     EndPayloads payloads) {
  if (range_id == 0) return;  // started before recording began
  if ((range_id & left_out_bit) == 0) {
    keep_payloads(log, domain, payloads, time_ns);
    trace::RangeEndRecord record{};
    record.range_id = range_id;
    write_record(log, RecordType::range_end, 0, time_ns, record);
  }
  if ((range_id & step_bit) != 0) [[unlikely]]
    gate().step_range_ends(log, range_id, time_ns);
}

}  // namespace ddpprof::record
