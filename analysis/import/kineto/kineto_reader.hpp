// Interprets the events of a PyTorch profiler's trace, from torch 1.8 to 2.15, on NVIDIA's and AMD's devices or on CPUs
// only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/import/json/trace_reader.hpp"
#include "analysis/import/kineto/name_property.hpp"
#include "analysis/import/trace/collectives/kernel_families.hpp"
#include "analysis/import/trace/rank_trace.hpp"
#include "analysis/import/trace/raw_collector.hpp"

namespace ddpprof::import {

// Events that were rejected for one reason. Every rejected event is counted.
struct Refused {
  std::int64_t count = 0;
  std::uint64_t first_offset = 0;
};

// Returns true for calls that launch work on a device.
bool is_device_launch(std::string_view call);

class KinetoReader : public TraceVisitor {
 public:
  KinetoReader(RankTrace& rank, RawCollector& raw) : rank_(rank), raw_(raw) {}

  void event(const Event&, std::uint64_t offset) override;
  void member(std::string_view key, std::string_view json, std::uint64_t offset) override;
  void damage(std::uint64_t offset, std::string_view what) override;
  // Call after the last event.
  void finish();

  const std::map<std::string, Refused>& refused() const { return refused_; }  // invalid events, by reason
  // events of kinds that are not read
  const std::map<std::string, std::int64_t>& passed_over() const { return passed_over_; }
  std::int64_t taken() const { return taken_; }
  // Returns why the file is not the trace of one rank; empty if it is.
  std::string several_ranks() const;

 private:
  enum class Kind : std::uint8_t {
    unknown,
    kernel,
    copy,
    set,
    runtime,
    driver,
    operation,   // on the CPU
    annotation,  // record_function on the CPU
    python,
    ignored,  // arrows, instants, copies of annotations on the device
  };
  static std::string lower(std::string_view);
  static Kind kind_of(std::string_view category);
  Kind kind(std::string_view category);

  bool allocator_event(const Event&);  // returns true if the event was used
  void device_event(const Event&, Kind, Span);
  void call_event(const Event&, Kind, Span);
  void host_event(const Event&, Kind, Span);
  void mark(const Event&, Span);
  struct HostMessage {
    CollectiveOp op = CollectiveOp::other;
    std::int64_t bytes = 0, part_bytes = 0, part_elements = 0, elements = 0;
    std::int32_t element_bytes = 0;
    bool integral = false;
  };
  HostMessage message_of(const Event&, bool of_run);  // of a call, or of a backend's run
  void host_run(const Event&, Span);  // a backend's thread executes a collective
  void host_call(const Event&, Span, CollectiveMark);
  void set_backend(std::string_view annotation);
  void metadata(const Event&);
  void unread_event(const Event&);  // of a category that is not read
  void count_launch(std::string_view name);
  void count_unread_devices();
  void mark_process(const Event&);  // the event shows that its process trains
  void mark_step(const Event&, std::int64_t number, Span);
  bool groups_exceed(std::int64_t world_size) const;
  void set_identity_by_groups();
  void describe_groups();
  static ingest::CallDetails details_of(const Event::Arguments&, CollectiveOp);
  void refuse(std::string_view why, std::uint64_t offset);
  void report_invalid_size();  // of the current event
  std::int64_t size_in(std::optional<std::int64_t>);
  std::int64_t message_bytes(const Event::Arguments&);
  std::int64_t group_size(const Event::Arguments&);
  std::int32_t short_number(std::int64_t);
  struct OperationBatch {
    std::int64_t samples = 0;
    bool of_rows = false;  // of a matrix product, whose rows may be samples times positions
  };
  void add_batch(std::int64_t start_ns, OperationBatch);
  void set_batch();
  std::int64_t forwards_from_ns() const;
  std::int64_t number_of(std::string_view id);
  std::uint32_t group_of(const Event&);

  static constexpr std::int64_t most_batches = 4096;

  RankTrace& rank_;
  RawCollector& raw_;
  NameProperty collective_kernel_{is_collective_kernel}, device_launch_{is_device_launch},
      kernel_launch_{launches_a_kernel};
  std::map<std::string, Refused> refused_;
  std::map<std::string, std::int64_t> passed_over_;
  std::map<std::string, Kind, std::less<>> kinds_;
  std::map<std::int64_t, OperationBatch> batches_;            // leading dimension of operations on the input, by start
  std::map<std::string, std::int64_t, std::less<>> odd_ids_;  // pids and tids that are not numbers
  std::map<std::int64_t, std::string> processes_;             // names by pid
  std::map<std::int64_t, std::string> process_labels_;
  struct Unread {
    std::int64_t on_device = 0, others = 0;  // events with and without a device or a stream
    std::string category;                    // of the first event
  };
  std::map<std::int64_t, Unread> unread_;                  // by pid
  std::map<std::int64_t, std::int64_t> marked_processes_;  // marks of training by pid
  std::string last_marked_pid_;
  std::int64_t* last_marks_ = nullptr;  // of that process
  struct NumberedStep {
    Span time;
    std::int64_t tid = 0;
  };
  std::map<std::int64_t, NumberedStep> steps_;  // the first step of each number
  std::int64_t simultaneous_steps_ = 0, other_ranks_ = 0;
  struct ConfiguredGroup {
    std::vector<std::int64_t> ranks;
    GroupText text;
  };
  std::vector<ConfiguredGroup> configured_groups_;  // of distributedInfo
  std::int64_t configured_size_ = 0;                // of the largest group
  HostOperation last_host_work_;
  std::string last_category_;
  Kind last_kind_ = Kind::unknown;
  std::uint32_t operation_domain_ = 0, annotation_domain_ = 0, python_domain_ = 0;
  std::int64_t taken_ = 0;
  std::uint64_t offset_ = 0;  // of the current event
};

}  // namespace ddpprof::import
