#include "analysis/import/recorded/recorded_process.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/import/nsight/nccl_calls.hpp"
#include "analysis/import/nsight/nvtx_marks.hpp"
#include "analysis/import/recorded/bounds.hpp"
#include "analysis/import/recorded/host_message.hpp"
#include "analysis/import/recorded/launch_reader.hpp"
#include "analysis/import/recorded/launching_threads.hpp"
#include "analysis/import/trace/collectives/kernel_families.hpp"
#include "analysis/import/trace/raw_collector.hpp"
#include "analysis/ingest/definitions.hpp"

namespace ddpprof::import {
namespace {

constexpr std::uint32_t memset_kind = 1000;  // a further kind in CopyRecord, besides CUpti_ActivityMemcpyKind's

std::string_view copy_name(std::uint32_t kind) {
  switch (kind) {
    case 1:
      return "Memcpy HtoD";
    case 2:
      return "Memcpy DtoH";
    case 8:
      return "Memcpy DtoD";
    case 9:
      return "Memcpy HtoH";
    case 10:
      return "Memcpy PtoP";
    case memset_kind:
      return "Memset";
    default:
      return "Memcpy unknown";
  }
}

// Facts needed before events are read: which launches belong to NCCL's kernels, because a call may be recorded before
// its kernel, and the recording windows, because their records lie where a thread noticed them.
struct Ahead {
  std::unordered_set<std::int64_t> nccl_correlations;
  RecordedBounds bounds;
};
Ahead read_ahead(const store::ShardReader& reader) {
  struct Kernels final : store::ShardVisitor {
    void on_kernel(const trace::KernelRecord& record) override {
      if (is_collective_kernel(definitions.text(record.header.name_id))) found.insert(record.correlation_id);
    }
    ingest::Definitions definitions;
    std::unordered_set<std::int64_t> found;
  } kernels;
  reader.visit(kernels.definitions);
  kernels.definitions.finish();
  reader.visit(kernels);
  Ahead ahead;
  ahead.nccl_correlations = std::move(kernels.found);
  if (reader.info().bounds.asked) reader.visit(ahead.bounds);
  ahead.bounds.finish();
  return ahead;
}

class Filler final : public ingest::RawSink {
 public:
  Filler(RankTrace& trace, const Ahead& ahead, bool bounded, import::RawSink* sink, std::size_t source)
      : trace_(trace), raw_(trace.names, sink, source), ranks_{&trace}, ahead_(ahead), bounded_(bounded) {}

  void range(const Range& range) override {
    if (!range.end_ns) return;  // counted by the shard's reader
    // A thread may notice slightly late that recording began or stopped.
    if (bounded_ && !ahead_.bounds.kept(range.start_ns)) return;
    RawRange raw;
    raw.tid = range.tid;
    raw.start_ns = range.start_ns;
    raw.end_ns = *range.end_ns;
    raw.name = trace_.names.intern(range.name);
    raw.domain = trace_.names.intern(range.domain.value_or("nvtx"));
    raw.mark = range.kind == store::RangeKind::mark;
    raw_.range(raw);
    ++trace_.events;
    trace_.saw_host(raw.start_ns, raw.end_ns);
    if (raw.mark) return;
    const Span time{raw.start_ns, raw.end_ns};
    if (const std::optional<std::int64_t> step = ahead_.bounds.step_number(range.tid, range.start_ns)) {
      marks_.add_step(range.name, *step, time);
      return;
    }
    if (const std::optional<HostMessage> message = host_message(range.name, range.payload)) {
      CollectiveRun run;
      run.time = time;
      run.launch_ns = time.start_ns;
      run.op = message->op;
      run.bytes = message->bytes;
      run.on_host = true;
      trace_.runs.push_back(run);
      host_backend_ = message->backend;
      return;
    }
    if (!is_nccl_call(range.name)) {
      marks_.add(ranks_, range.tid, range.name, time);
      return;
    }
    std::optional<NcclPayload> payload;
    if (const auto* json = std::get_if<std::string_view>(&range.payload)) payload = PayloadSchemas::from_json(*json);
    nccl_.add_range(range.tid, range.name, time, payload);
  }

  void kernel(const trace::KernelRecord& record, std::string_view name) override {
    RawSlice raw;
    raw.slice.start_ns = record.header.time_ns;
    raw.slice.end_ns = record.end_ns;
    raw.slice.name = trace_.names.intern(name);
    raw.slice.device = static_cast<std::int32_t>(record.device);
    raw.slice.stream = static_cast<std::int32_t>(record.stream);
    const bool collective = is_collective_kernel(name);
    raw.slice.work = collective ? Work::communication : Work::compute;
    raw.correlation = record.correlation_id;
    raw.grid = extent(record.grid);
    raw.block = extent(record.block);
    raw.registers = record.registers_per_thread;
    raw.shared_bytes = std::int64_t{record.static_shared_bytes} + record.dynamic_shared_bytes;
    trace_.slices.add(raw.slice, raw.correlation);
    raw_.slice(raw);
    ++trace_.events;
    saw_kernels_ = true;
    if (!collective) return;
    CollectiveRun run;
    run.time = {raw.slice.start_ns, raw.slice.end_ns};
    run.op = collective_op_of_kernel(name);
    run.correlation = raw.correlation;
    run.stream = raw.slice.stream;
    trace_.runs.push_back(run);
  }

  void copy(const trace::CopyRecord& record) override {
    RawSlice raw;
    raw.slice.start_ns = record.header.time_ns;
    raw.slice.end_ns = record.end_ns;
    raw.slice.name = trace_.names.intern(copy_name(record.kind));
    raw.slice.device = static_cast<std::int32_t>(record.device);
    raw.slice.stream = static_cast<std::int32_t>(record.stream);
    raw.slice.work = record.kind == memset_kind ? Work::set : Work::copy;
    raw.correlation = record.correlation_id;
    raw.bytes = static_cast<std::int64_t>(record.bytes);
    trace_.slices.add(raw.slice, raw.correlation);
    raw_.slice(raw);
    ++trace_.events;
  }

  void api(const trace::ApiRecord& record) override {
    RawCall raw;
    raw.tid = record.thread;
    raw.correlation = record.correlation_id;
    raw.callback = record.cbid;
    raw.start_ns = record.header.time_ns;
    raw.end_ns = record.end_ns;
    raw.driver = record.domain == 1;
    raw_.call(raw);
    ++trace_.events;
    trace_.slices.add_call(raw.correlation, {raw.start_ns, -1, raw.tid});
    trace_.saw_host(raw.start_ns, raw.end_ns);
    if (ahead_.nccl_correlations.contains(raw.correlation))
      nccl_.add_launch(raw.tid, {raw.start_ns, raw.end_ns}, raw.correlation);
  }

  bool saw_kernels() const { return saw_kernels_; }

  StepFinder::Found finish(ingest::ShardTrace& recorded) {
    std::unordered_map<std::int64_t, Message> messages = nccl_.match();
    recorded.nccl_disagreements = prefer(messages, nccl_.match(recorded.nccl_operations));
    set_messages(trace_, messages);
    if (trace_.runs.empty()) add_timed_operations(recorded);
    if (!trace_.runs.empty()) trace_.backend = host_backend_.empty() ? "nccl" : host_backend_;
    raw_.flush();
    return marks_.set_steps_and_batch(ranks_);
  }

 private:
  static std::int64_t extent(const std::int32_t (&sides)[3]) {
    std::int64_t product = 1;
    for (const std::int32_t side : sides)
      if (side < 0 || __builtin_mul_overflow(product, std::int64_t{side}, &product)) return 0;
    return product;
  }

  // If CUPTI recorded no kernel, adds the operations that NCCL timed itself: one kernel per group.
  void add_timed_operations(ingest::ShardTrace& recorded) {
    std::map<std::uint64_t, std::vector<const ingest::NcclOperationFact*>> groups;
    for (const ingest::NcclOperationFact& operation : recorded.nccl_operations)
      if (operation.run) groups[operation.group].push_back(&operation);
    for (const auto& [group, operations] : groups) {
      if (group == 0) continue;
      CollectiveRun run;
      run.time = {operations.front()->run->start_ns, operations.front()->run->end_ns};
      for (const ingest::NcclOperationFact* operation : operations) {
        run.time.start_ns = std::min(run.time.start_ns, operation->run->start_ns);
        run.time.end_ns = std::max(run.time.end_ns, operation->run->end_ns);
      }
      const Message message = message_of(operations);
      run.launch_ns = std::min(operations.front()->time_ns, run.time.start_ns);
      run.op = message.op;
      run.bytes = message.bytes;
      run.sequence = message.sequence;
      run.choice = message.choice;
      if (message.communicator) run.group = trace_.names.intern(communicator_name(*message.communicator));
      run.group_size = message.ranks;
      trace_.runs.push_back(run);
      trace_.saw_host(run.launch_ns, run.time.end_ns);
      ++recorded.nccl_channel_times;
    }
  }

  RankTrace& trace_;
  RawCollector raw_;
  std::vector<RankTrace*> ranks_;
  NvtxMarks marks_;
  NcclCalls nccl_;
  bool saw_kernels_ = false;
  std::string_view host_backend_;  // the backend of the messages that the job itself marks
  const Ahead& ahead_;
  bool bounded_;
};

}  // namespace

RecordedProcess read_recorded(const std::filesystem::path& path, const SortOptions& sort, RawSink* sink,
                              std::size_t source) {
  const store::ShardReader reader(path);
  RecordedProcess process(sort);
  const Ahead ahead = read_ahead(reader);
  const bool bounded = reader.info().bounds.asked;
  Filler filler(process.trace, ahead, bounded, sink, source);
  process.trace.kept = ahead.bounds.windows();
  process.recorded = ingest::read_shard_trace(reader, &filler);
  const StepFinder::Found found = filler.finish(process.recorded);
  process.steps_by_repetition = found.by_repetition;
  process.step_name = found.name;
  if (filler.saw_kernels() && process.trace.backwards.empty() && process.trace.backward_ops.size() == 0) {
    LaunchedPhases phases = phases_of(launches_in(reader), process.recorded.info.pid);
    process.phases_by_threads = static_cast<std::int64_t>(phases.backwards.size());
    process.trace.backwards = std::move(phases.backwards);
    if (process.trace.optimizers.empty()) process.trace.optimizers = std::move(phases.optimizers);
  }
  const store::ShardInfo& info = process.recorded.info;
  if (bounded) process.bounds = note_of_bounds(info.bounds, ahead.bounds.windows(), process.recorded.events.last_ns);
  RankTrace& trace = process.trace;
  if (info.rank >= 0) trace.rank = info.rank;
  if (info.world_size > 0) trace.world_size = info.world_size;
  trace.world_size_stated = trace.world_size.has_value();
  trace.pid = info.pid;
  trace.process = info.process;
  trace.host = info.host;
  trace.base_ns = info.opened_realtime_ns - info.opened_monotonic_ns;
  return process;
}

}  // namespace ddpprof::import
