#include "analysis/ingest/event_reader.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>

#include "analysis/ingest/nccl.hpp"
#include "tracer/format/payload_schemas.hpp"

namespace ddpprof::ingest {
namespace {

using trace::PayloadKind;
using vocabulary::BucketMemberSchema;
using vocabulary::ClockSchema;
using vocabulary::CollectiveSchema;
using vocabulary::CopySchema;
using vocabulary::LoadSchema;
using vocabulary::ParameterSchema;
using vocabulary::ReplicaSchema;
using vocabulary::StepSchema;

// 2^58 ns are 9.1 years since boot, longer than any uptime; sums of such times fit int64.
constexpr std::int64_t latest_time_ns = std::int64_t{1} << 58;
// A GPU's timer counts from 1970 or from its start: 2^62 ns are 146 years; sums with the limit above fit int64.
constexpr std::uint64_t latest_timer_ns = std::uint64_t{1} << 62;
constexpr std::int64_t most_lanes = std::int64_t{1} << 20;  // of replicas or loaders; more are damage

constexpr std::array<std::pair<const char*, StepNumber>, step_numbers> number_names = {{
    {vocabulary::loss, StepNumber::loss},
    {vocabulary::learning_rate, StepNumber::learning_rate},
    {vocabulary::local_gradient_sqr, StepNumber::local_gradient_sqr},
    {vocabulary::gradient_sqr, StepNumber::gradient_sqr},
}};

// Reads the wanted fields as integers, in order. Returns false if the payload has another schema, or a field is missing
// or not an integer. Fields are found by name, so a shard whose struct has more fields stays readable.
bool read_fields(const store::PayloadDecoder& payloads, std::uint32_t domain, const store::ExtendedPayload& payload,
                 std::string_view schema_name, std::span<const vocabulary::PayloadField> wanted,
                 std::span<std::int64_t> out) {
  const store::PayloadSchema* schema = payloads.find(domain, payload.schema);
  if (!schema || schema->name != schema_name) return false;
  std::size_t k = 0;
  for (const vocabulary::PayloadField& want : wanted) {
    const auto field = std::find_if(schema->fields.begin(), schema->fields.end(),
                                    [&](const store::PayloadField& candidate) { return candidate.name == want.name; });
    if (field == schema->fields.end()) return false;
    const store::FieldValue value = store::field_value(*field, payload.bytes);
    // A hash uses all 64 bits; it is carried through as its bit pattern.
    if (const auto* bits = std::get_if<std::uint64_t>(&value))
      out[k++] = std::bit_cast<std::int64_t>(*bits);
    else if (const auto* number = std::get_if<std::int64_t>(&value))
      out[k++] = *number;
    else
      return false;
  }
  return true;
}

store::PayloadColumn plain_payload(PayloadKind kind, std::uint64_t bits, std::string& text) {
  switch (kind) {
    case PayloadKind::int64:
    case PayloadKind::int32:
      return std::bit_cast<std::int64_t>(bits);
    case PayloadKind::uint64:
    case PayloadKind::uint32:
      if (bits <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return static_cast<std::int64_t>(bits);
      text = std::to_string(bits);  // SQLite's largest integer is 2^63 - 1
      return std::string_view(text);
    case PayloadKind::float64:
    case PayloadKind::float32:
      return std::bit_cast<double>(bits);
    case PayloadKind::none:
    case PayloadKind::extended:
      break;
  }
  return std::monostate{};
}

}  // namespace

void EventReader::on_chunk(std::int64_t os_tid) {
  tid_ = os_tid;
  stack_ = nullptr;
}

std::vector<EventReader::Open>& EventReader::stack(std::uint64_t domain) {
  if (!stack_ || stack_domain_ != domain) {
    stack_ = &stacks_[{tid_, domain}];
    stack_domain_ = domain;
  }
  return *stack_;
}

EventReader::EventMeaning EventReader::meaning(const trace::EventRecord& event) {
  EventMeaning& meaning = meanings_[std::uint64_t{event.domain} << 32 | event.header.name_id];
  if (meaning.known) return meaning;
  meaning.known = true;
  if (event.domain == 0 || definitions_.domain_name(event.domain) != vocabulary::domain_name) return meaning;
  const std::string_view name = definitions_.text(event.header.name_id);
  if (const PhaseName phase = trace::phase_named(name); phase != PhaseName::none)
    meaning = {true, EventKind::phase, phase, {}};
  if (name == vocabulary::step) meaning.kind = EventKind::step;
  if (name == vocabulary::collective) meaning.kind = EventKind::collective;
  if (name == vocabulary::collective_launch) meaning.kind = EventKind::launch;
  if (name == vocabulary::grad_ready) meaning.kind = EventKind::grad_ready;
  if (name == vocabulary::bucket_member) meaning.kind = EventKind::member;
  if (name == vocabulary::clock_sample) meaning.kind = EventKind::clock;
  for (const auto& [text, number] : number_names)
    if (name == text) meaning = {true, EventKind::number, PhaseName::none, number};
  return meaning;
}

bool EventReader::possible_time(std::int64_t time_ns) {
  if (time_ns >= 0 && time_ns < latest_time_ns) return true;
  ++trace_.impossible_times;
  return false;
}

bool EventReader::sound_time(std::int64_t time_ns) {
  if (!possible_time(time_ns)) return false;
  trace_.events.add(time_ns);
  return true;
}

bool EventReader::sound_interval(std::int64_t start_ns, std::int64_t end_ns) {
  if (start_ns >= 0 && start_ns <= end_ns && end_ns < latest_time_ns) {
    trace_.events.add(start_ns);
    trace_.events.add(end_ns);
    return true;
  }
  ++trace_.impossible_times;
  return false;
}

EventReader::Open EventReader::open(const trace::EventRecord& event, const store::ExtendedPayload& payload) {
  Open open;
  open.name_id = event.header.name_id;
  open.domain = event.domain;
  open.tid = tid_;
  open.start_ns = event.header.time_ns;
  open.payload_kind = event.payload_kind;
  open.payload = event.payload;
  open.meaning = meaning(event);
  if (event.payload_kind != PayloadKind::extended) return open;
  const store::PayloadDecoder& payloads = definitions_.payloads();
  const auto read = [&](std::string_view schema, std::span<const vocabulary::PayloadField> fields) {
    open.readable = read_fields(payloads, event.domain, payload, schema, fields, open.values);
  };
  switch (open.meaning.kind) {
    case EventKind::step:
      read(StepSchema::name, StepSchema::fields);
      break;
    case EventKind::collective:
    case EventKind::launch:
      read(CollectiveSchema::name, CollectiveSchema::fields);
      break;
    case EventKind::member:
      read(BucketMemberSchema::name, BucketMemberSchema::fields);
      break;
    case EventKind::clock:
      read(ClockSchema::name, ClockSchema::fields);
      break;
    case EventKind::phase:
      if (is_copy(open.meaning.phase)) read(CopySchema::name, {&CopySchema::bytes, 1});
      if (is_replica(open.meaning.phase)) read(ReplicaSchema::name, {&ReplicaSchema::replica, 1});
      if (is_load(open.meaning.phase)) read(LoadSchema::name, {&LoadSchema::loader, 1});
      break;
    default:
      break;
  }
  if (sink_) payloads.append_json(open.json, event.domain, payload);
  return open;
}

void EventReader::emit(const Open& open, std::optional<std::int64_t> end_ns, store::RangeKind kind) {
  if (!sink_) return;
  std::string number;
  RawSink::Range range{open.tid, definitions_.text(open.name_id), {}, kind, open.depth, open.start_ns, end_ns, {}};
  if (open.domain != 0) range.domain = definitions_.domain_name(open.domain);
  if (open.payload_kind == PayloadKind::extended)
    range.payload = std::string_view(open.json);
  else
    range.payload = plain_payload(open.payload_kind, open.payload, number);
  sink_->range(range);
}

CollectiveFact& EventReader::collective(const Open& open) {
  const auto communicator = std::bit_cast<std::uint64_t>(open.values[0]);
  const auto sequence = std::bit_cast<std::uint64_t>(open.values[1]);
  CollectiveFact& fact = collectives_[{communicator, sequence}];
  fact.communicator = communicator;
  fact.sequence = sequence;
  fact.bytes = open.values[2];
  fact.op = static_cast<std::int32_t>(open.values[3]);
  fact.bucket = static_cast<std::int32_t>(open.values[4]);
  return fact;
}

void EventReader::closed(const Open& open, std::int64_t end_ns, store::RangeKind kind) {
  if (!sound_interval(open.start_ns, end_ns)) return emit(open, std::nullopt, kind);
  emit(open, end_ns, kind);
  const Interval time{open.start_ns, end_ns};
  switch (open.meaning.kind) {
    case EventKind::step:
      if (!open.readable)
        ++trace_.bad_vocabulary;
      else
        trace_.steps.push_back(
            {open.values[0], static_cast<vocabulary::StepKind>(open.values[1]), open.values[2], time});
      break;
    case EventKind::phase: {
      PhaseFact fact{open.meaning.phase, time, {}, 0};
      if (is_copy(fact.name) && open.readable) fact.bytes = open.values[0];
      if (is_replica(fact.name) || is_load(fact.name)) {
        if (open.readable && open.values[0] >= 0 && open.values[0] < most_lanes)
          fact.replica = open.values[0];
        else
          ++trace_.bad_vocabulary;
      }
      trace_.phases.push_back(fact);
      break;
    }
    case EventKind::collective:
      if (!open.readable) {
        ++trace_.bad_vocabulary;
      } else {
        CollectiveFact& fact = collective(open);
        if (fact.end_ns) ++trace_.repeated_collectives;
        fact.start_ns = time.start_ns;
        fact.end_ns = time.end_ns;
        fact.host_timed = true;
      }
      break;
    default:
      break;
  }
}

void EventReader::on_push(const trace::EventRecord& event, const store::ExtendedPayload& payload) {
  std::vector<Open>& open_ranges = stack(event.domain);
  open_ranges.push_back(open(event, payload));
  open_ranges.back().depth = static_cast<std::int64_t>(open_ranges.size()) - 1;
}

void EventReader::on_pop(const trace::PopRecord& record) {
  std::vector<Open>& open_ranges = stack(record.domain);
  if (open_ranges.empty()) {
    ++trace_.unmatched_ends;
    return;
  }
  closed(open_ranges.back(), record.header.time_ns, store::RangeKind::push_pop);
  open_ranges.pop_back();
}

void EventReader::on_range_start(const trace::RangeStartRecord& record, const store::ExtendedPayload& payload) {
  Open started = open(record.event, payload);
  if (const auto end = ended_early_.find(record.range_id); end != ended_early_.end()) {
    closed(started, end->second, store::RangeKind::start_end);
    ended_early_.erase(end);
  } else if (!started_.try_emplace(record.range_id, std::move(started)).second) {
    ++trace_.unended;  // the id is in use: one of the two cannot be matched
  }
}

void EventReader::on_range_end(const trace::RangeEndRecord& record) {
  const auto started = started_.find(record.range_id);
  if (started == started_.end()) {
    if (!ended_early_.try_emplace(record.range_id, record.header.time_ns).second) ++trace_.unmatched_ends;
    return;
  }
  closed(started->second, record.header.time_ns, store::RangeKind::start_end);
  started_.erase(started);
}

void EventReader::on_mark(const trace::EventRecord& event, const store::ExtendedPayload& payload) {
  const Open point = open(event, payload);
  if (!sound_time(point.start_ns)) return;
  emit(point, point.start_ns, store::RangeKind::mark);
  mark(point, event, payload);
}

void EventReader::mark(const Open& point, const trace::EventRecord& event, const store::ExtendedPayload& payload) {
  const std::int64_t time_ns = point.start_ns;
  const auto& values = point.values;
  const auto need = [this](bool readable) {
    if (!readable) ++trace_.bad_vocabulary;
    return readable;
  };
  switch (point.meaning.kind) {
    case EventKind::grad_ready:
      if (need(event.payload_kind == PayloadKind::int64))
        trace_.grads.push_back({std::bit_cast<std::int64_t>(event.payload), time_ns});
      return;
    case EventKind::number:
      if (need(event.payload_kind == PayloadKind::float64))
        trace_.numbers.push_back({point.meaning.number, time_ns, std::bit_cast<double>(event.payload)});
      return;
    case EventKind::launch:
      if (need(point.readable)) {
        CollectiveFact& fact = collective(point);
        if (fact.launch_ns) ++trace_.repeated_collectives;
        fact.launch_ns = time_ns;
      }
      return;
    case EventKind::member:
      if (need(point.readable)) trace_.members.push_back({values[0], values[1], values[2], time_ns});
      return;
    case EventKind::clock:
      // Only checked for plausibility: rank 0's clock and a round trip are not times of events of this shard.
      if (need(point.readable && possible_time(values[0]) && possible_time(values[1]) && possible_time(values[2])))
        trace_.exchanges.push_back({values[0], values[1], values[2]});
      return;
    default:
      break;
  }
  // A parameter's mark has the parameter's name; only its schema identifies it.
  if (event.payload_kind != PayloadKind::extended || event.domain == 0) return;
  std::array<std::int64_t, 3> fields{};
  if (definitions_.domain_name(event.domain) == vocabulary::domain_name &&
      read_fields(definitions_.payloads(), event.domain, payload, ParameterSchema::name, ParameterSchema::fields,
                  fields))
    trace_.parameters.push_back(
        {fields[0], std::string(definitions_.text(event.header.name_id)), fields[1], fields[2]});
}

void EventReader::on_kernel(const trace::KernelRecord& record) {
  if (!sound_interval(record.header.time_ns, record.end_ns)) return;
  const std::string_view name = definitions_.text(record.header.name_id);
  // ncclKernel_* before NCCL 2.19, ncclDevKernel_* since.
  const bool nccl = name.find("nccl") != std::string_view::npos;
  const Interval time{record.header.time_ns, record.end_ns};
  trace_.gpu.add(time.start_ns);
  trace_.gpu.add(time.end_ns);
  if (nccl)
    trace_.nccl_kernels.push_back({time, record.correlation_id, record.graph_node_id != 0});
  else
    trace_.compute_kernels.push_back(time);
  if (sink_) sink_->kernel(record, name);
}

void EventReader::on_copy(const trace::CopyRecord& record) {
  if (!sound_interval(record.header.time_ns, record.end_ns)) return;
  trace_.gpu.add(record.header.time_ns);
  trace_.gpu.add(record.end_ns);
  constexpr std::uint32_t peer_to_peer = 10;  // CUPTI_ACTIVITY_MEMCPY_KIND_PTOP
  trace_.device_copies.push_back({record.header.time_ns, record.end_ns});
  if (record.kind == peer_to_peer) trace_.peer_copies.push_back({record.header.time_ns, record.end_ns});
  if (sink_) sink_->copy(record);
}

void EventReader::on_api(const trace::ApiRecord& record) {
  if (!sound_interval(record.header.time_ns, record.end_ns)) return;
  trace_.api_calls.push_back({record.correlation_id, record.header.time_ns});
  if (sink_) sink_->api(record);
}

void EventReader::on_diagnostic(const trace::DiagnosticRecord& record) {
  trace_.diagnostics.push_back({record.code, record.count, std::string(definitions_.text(record.header.name_id))});
}

void EventReader::on_nccl_operation(const trace::NcclOperationRecord& record) {
  if (sound_time(record.header.time_ns)) nccl_.add(record, tid_);
}

void EventReader::on_nccl_channel(const trace::NcclChannelRecord& record) {
  if (!sound_time(record.header.time_ns)) return;
  trace::NcclChannelRecord told = record;
  if (told.timer_ns >= latest_timer_ns) {
    ++trace_.impossible_times;
    told.timer_ns = 0;  // 0: not reported; the operation then has no run
  }
  nccl_.add(told);
}

void EventReader::finish() {
  const auto never_ended = [this](const Open& open, store::RangeKind kind) {
    ++trace_.unended;
    if (open.meaning.kind == EventKind::step) ++trace_.open_steps;
    if (!sound_time(open.start_ns)) return;
    if (open.meaning.kind == EventKind::collective && open.readable) collective(open).start_ns = open.start_ns;
    emit(open, std::nullopt, kind);
  };
  for (const auto& [key, open_ranges] : stacks_)
    for (const Open& open : open_ranges) never_ended(open, store::RangeKind::push_pop);
  std::vector<std::pair<std::uint64_t, const Open*>> started;  // in order of id, so that rows are reproducible
  for (const auto& [id, open] : started_) started.emplace_back(id, &open);
  std::sort(started.begin(), started.end());
  for (const auto& [id, open] : started) never_ended(*open, store::RangeKind::start_end);
  trace_.unmatched_ends += static_cast<std::int64_t>(ended_early_.size());
  for (auto& [key, fact] : collectives_) trace_.collectives.push_back(fact);
  trace_.nccl_operations = nccl_.finish(definitions_);
  for (NcclOperationFact& fact : trace_.nccl_operations)
    if (fact.run && !sound_interval(fact.run->start_ns, fact.run->end_ns)) fact.run.reset();

  const auto by_start = [](const auto& a, const auto& b) { return a.time.start_ns < b.time.start_ns; };
  const auto by_time = [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; };
  std::stable_sort(trace_.steps.begin(), trace_.steps.end(), by_start);
  std::stable_sort(trace_.phases.begin(), trace_.phases.end(), by_start);
  std::stable_sort(trace_.grads.begin(), trace_.grads.end(), by_time);
  std::stable_sort(trace_.numbers.begin(), trace_.numbers.end(), by_time);
}

ShardTrace read_shard_trace(const store::ShardReader& reader, RawSink* sink) {
  ShardTrace trace;
  trace.info = reader.info();
  Definitions definitions;
  reader.visit(definitions);
  definitions.finish();
  EventReader events(definitions, trace, sink);
  trace.tally = reader.visit(events);
  events.finish();
  place_nccl_kernels(trace);
  place_nccl_operations(trace);
  trace.thread_names = definitions.thread_names();
  return trace;
}

}  // namespace ddpprof::ingest
