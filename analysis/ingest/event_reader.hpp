// Second pass over a shard: matches starts with ends and reads the events of the vocabulary.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/ingest/definitions.hpp"
#include "analysis/ingest/shard_trace.hpp"

namespace ddpprof::ingest {

class EventReader : public store::ShardVisitor {
 public:
  EventReader(const Definitions& definitions, ShardTrace& trace, RawSink* sink)
      : definitions_(definitions), trace_(trace), sink_(sink) {}

  void on_chunk(std::int64_t os_tid) override;
  void on_push(const trace::EventRecord&, const store::ExtendedPayload&) override;
  void on_pop(const trace::PopRecord&) override;
  void on_mark(const trace::EventRecord&, const store::ExtendedPayload&) override;
  void on_range_start(const trace::RangeStartRecord&, const store::ExtendedPayload&) override;
  void on_range_end(const trace::RangeEndRecord&) override;
  void on_kernel(const trace::KernelRecord&) override;
  void on_copy(const trace::CopyRecord&) override;
  void on_api(const trace::ApiRecord&) override;
  void on_gpu_marker(const trace::GpuMarkerRecord&) override { ++trace_.gpu_markers; }
  void on_correlation(const trace::CorrelationRecord&) override { ++trace_.correlations; }
  void on_overhead(const trace::OverheadRecord&) override { ++trace_.overheads; }
  void on_diagnostic(const trace::DiagnosticRecord&) override;
  void on_nccl_communicator(const trace::NcclCommunicatorRecord& record) override { nccl_.add(record); }
  void on_nccl_operation(const trace::NcclOperationRecord&) override;
  void on_nccl_channel(const trace::NcclChannelRecord&) override;
  void finish();  // handles open ranges and sorts the facts; call it after the pass

 private:
  // The kind of an event in the domain "ddpprof", by its name.
  enum class EventKind : std::uint8_t { other, step, phase, collective, launch, grad_ready, member, clock, number };
  struct EventMeaning {
    bool known = false;
    EventKind kind = EventKind::other;
    PhaseName phase = PhaseName::none;
    StepNumber number = StepNumber::loss;
  };
  struct Open {
    std::uint32_t name_id = 0;
    std::uint16_t domain = 0;
    std::int64_t tid = 0, start_ns = 0;
    std::int64_t depth = 0;
    trace::PayloadKind payload_kind{};
    std::uint64_t payload = 0;
    EventMeaning meaning;
    std::array<std::int64_t, 5> values{};  // of the vocabulary's payloads, in the order of the schema's fields
    bool readable = false;                 // true if `values` has been read
    std::string json;                      // of an extended payload, if there is a sink
  };

  EventMeaning meaning(const trace::EventRecord&);
  Open open(const trace::EventRecord&, const store::ExtendedPayload&);
  bool possible_time(std::int64_t time_ns);  // within any machine's uptime; sound_* also count as events of this shard
  bool sound_time(std::int64_t time_ns);
  bool sound_interval(std::int64_t start_ns, std::int64_t end_ns);
  void closed(const Open&, std::int64_t end_ns, store::RangeKind);
  void emit(const Open&, std::optional<std::int64_t> end_ns, store::RangeKind);
  void mark(const Open&, const trace::EventRecord&, const store::ExtendedPayload&);
  CollectiveFact& collective(const Open&);

  const Definitions& definitions_;
  ShardTrace& trace_;
  RawSink* sink_;
  std::int64_t tid_ = 0;
  std::map<std::pair<std::int64_t, std::uint64_t>, std::vector<Open>> stacks_;  // by (thread, domain)
  std::vector<Open>* stack_ = nullptr;                                          // the last used stack and its domain
  std::uint64_t stack_domain_ = 0;
  NcclOperations nccl_;
  std::unordered_map<std::uint64_t, Open> started_;
  std::unordered_map<std::uint64_t, std::int64_t> ended_early_;  // ends whose start is in a later chunk
  std::unordered_map<std::uint64_t, EventMeaning> meanings_;     // by (domain, name)
  std::map<std::pair<std::uint64_t, std::uint64_t>, CollectiveFact> collectives_;

  std::vector<Open>& stack(std::uint64_t domain);
};

}  // namespace ddpprof::ingest
