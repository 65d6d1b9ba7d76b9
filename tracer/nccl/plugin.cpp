#include "tracer/nccl/plugin.hpp"

#include <atomic>
#include <deque>
#include <mutex>
#include <string>

#include "tracer/format/shard_format.hpp"
#include "tracer/nccl/interface.hpp"
#include "tracer/record/cupti/cuda_injection.hpp"
#include "tracer/record/nvtx/range.hpp"
#include "tracer/record/recorder/recorder.hpp"
#include "tracer/record/shard/clock.hpp"
#include "tracer/record/shard/write.hpp"

namespace ddpprof::nccl {
namespace {

using namespace ddpprof::record;
using trace::RecordType;

enum class Kind : std::uint64_t { group = 1, operation = 2, channel = 3, captured_call = 4, left_out = 5 };
constexpr unsigned kind_bits = 3;

std::atomic<std::uint64_t> last_id{0};

void* handle_of(Kind kind, std::uint64_t id) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(id << kind_bits | static_cast<std::uint64_t>(kind)));
}
void* new_handle(Kind kind) { return handle_of(kind, last_id.fetch_add(1, std::memory_order_relaxed) + 1); }

// Returns 0 if the handle has another kind.
std::uint64_t id_of(const void* handle, Kind kind) {
  const auto bits = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(handle));
  return (bits & ((1u << kind_bits) - 1)) == static_cast<std::uint64_t>(kind) ? bits >> kind_bits : 0;
}

struct Communicator {
  std::uint64_t id = 0;
  CommunicatorInfo info;
  std::string name;
  bool known = false;                  // versions 1 to 3: true once an operation has passed the hash
  std::atomic<bool> described{false};  // its record is in the shard
};

// Kept until the process ends: NCCL may start or stop events of a communicator after it has finalized it.
struct Communicators {
  std::mutex mutex;
  std::deque<Communicator> all;  // addresses must not change
};
Communicators& communicators() {
  static Communicators* const kept = new Communicators;
  return *kept;
}

std::uint32_t intern(ThreadLog& log, const char* text) {
  return text == nullptr ? 0 : Recorder::instance().names().intern(log, text);
}

// Called before the first recorded operation, not when the communicator is created: recording may start later.
void describe(ThreadLog& log, Communicator& communicator, const OperationInfo* operation) {
  const std::lock_guard lock(communicators().mutex);
  if (communicator.described.load(std::memory_order_relaxed)) return;
  if (!communicator.known) {
    if (operation == nullptr) return;
    communicator.info.hash = operation->communicator_hash;
    communicator.info.rank = operation->rank;
    communicator.name = operation->communicator == nullptr ? "" : operation->communicator;
    communicator.known = true;
  }
  trace::NcclCommunicatorRecord record{};
  record.communicator = communicator.id;
  record.hash = communicator.info.hash;
  record.ranks = communicator.info.ranks;
  record.rank = communicator.info.rank;
  record.nodes = communicator.info.nodes;
  record.interface_version = static_cast<std::uint32_t>(communicator.info.version);
  const std::uint32_t name_id = intern(log, communicator.name.c_str());
  if (write_record(log, RecordType::nccl_communicator, name_id, monotonic_ns(), record))
    communicator.described.store(true, std::memory_order_release);
}

void write_channel(const trace::NcclChannelRecord& record) {
  const std::int64_t time_ns = monotonic_ns();
  const Entry entry;
  if (entry) write_record(*entry, RecordType::nccl_channel, 0, time_ns, record);
}

// Atomic, because other threads of NCCL read it meanwhile.
void set(int* mask, std::uint64_t events) {
  std::atomic_ref<int>(*mask).store(static_cast<int>(events), std::memory_order_relaxed);
}

}  // namespace

void* open_communicator(const CommunicatorInfo& info, int* mask) noexcept {
  if (mask == nullptr) return nullptr;
  try {
    if (!Recorder::instance().activate()) {
      set(mask, 0);
      return nullptr;
    }
    Communicator* communicator = nullptr;
    {
      Communicators& kept = communicators();
      const std::lock_guard lock(kept.mutex);
      communicator = &kept.all.emplace_back();
      communicator->id = kept.all.size();
      communicator->info = info;
      communicator->name = info.name == nullptr ? "" : info.name;
      communicator->known = info.version >= 4;
      communicator->info.name = nullptr;  // NCCL may free its string
    }
    if (const Entry entry; entry) describe(*entry, *communicator, nullptr);
    // Times of channels cost NCCL a proxy operation for each channel of each kernel. They are requested only if CUPTI
    // does not time the kernels, and only from versions that report the GPU's own times.
    const bool channels = info.version >= 4 && !gpu_activity_is_recorded();
    set(mask, event_collective | event_point_to_point | (channels ? event_kernel_channel : 0));
    return communicator;
  } catch (...) {  // no memory: this communicator is not recorded
    return nullptr;
  }
}

void* start_group() noexcept { return new_handle(Kind::group); }
void* captured_call() noexcept { return handle_of(Kind::captured_call, 1); }
bool is_captured_call(const void* handle) noexcept { return id_of(handle, Kind::captured_call) != 0; }

void* start_operation(void* context, const OperationInfo& info) noexcept {
  const std::int64_t time_ns = monotonic_ns();
  void* const handle = new_handle(Kind::operation);
  if (context == nullptr) return handle;
  try {
    const Entry entry;
    if (!entry) return handle;
    if (!keeps_mark(*entry, time_ns)) return handle_of(Kind::left_out, 1);  // its channels are then not recorded either
    auto& communicator = *static_cast<Communicator*>(context);
    if (!communicator.described.load(std::memory_order_acquire)) describe(*entry, communicator, &info);
    trace::NcclOperationRecord record{};
    record.operation = id_of(handle, Kind::operation);
    record.group = id_of(info.group, Kind::group);
    record.communicator = communicator.id;
    record.sequence = info.sequence;
    record.count = info.count;
    record.root_or_peer = info.root_or_peer;
    record.datatype_id = intern(*entry, info.datatype);
    record.algorithm_id = intern(*entry, info.algorithm);
    record.protocol_id = intern(*entry, info.protocol);
    record.channels = info.channels;
    record.warps = info.warps;
    record.flags =
        (info.point_to_point ? trace::nccl_point_to_point : 0u) | (info.captured ? trace::nccl_captured : 0u);
    write_record(*entry, RecordType::nccl_operation, intern(*entry, info.function), time_ns, record);
  } catch (...) {  // no memory for a name: NCCL must not see the exception
  }
  return handle;
}

void* start_channel(const void* operation, std::uint8_t channel, std::uint64_t timer_ns) noexcept {
  trace::NcclChannelRecord record{};
  record.operation = id_of(operation, Kind::operation);
  if (record.operation == 0) return nullptr;  // the operation was not recorded
  void* const handle = new_handle(Kind::channel);
  record.event = id_of(handle, Kind::channel);
  record.timer_ns = timer_ns;
  record.channel = channel;
  try {
    write_channel(record);
  } catch (...) {
  }
  return handle;
}

void stop_channel(const void* handle, std::uint64_t timer_ns) noexcept {
  trace::NcclChannelRecord record{};
  record.event = id_of(handle, Kind::channel);
  if (record.event == 0) return;
  record.timer_ns = timer_ns;
  record.ended = 1;
  try {
    write_channel(record);
  } catch (...) {
  }
}

}  // namespace ddpprof::nccl
