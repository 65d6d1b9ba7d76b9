#include "analysis/import/load/reading/row_writer.hpp"

#include <optional>
#include <string_view>
#include <utility>

#include "tracer/store/rows/inserter.hpp"

namespace ddpprof::import {
namespace {

std::string_view copy_kind(std::string_view name, Work work) {
  if (work == Work::set) return "memset";
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("HtoD")) return "host_to_device";
  if (has("DtoH")) return "device_to_host";
  if (has("DtoD")) return "device_to_device";
  if (has("PtoP")) return "peer";
  if (has("HtoH")) return "host_to_host";
  return "unknown";
}

class Writer {
 public:
  Writer(store::Database& database, std::int64_t first_shard)
      : first_shard_(first_shard),
        strings_(database),
        ranges_(database),
        kernels_(database),
        copies_(database),
        calls_(database) {}

  void write(const RawBatch& batch) {
    Source& source = sources_[batch.source];
    const std::int64_t shard = first_shard_ + static_cast<std::int64_t>(batch.source);
    // Names are numbered in order of appearance, so the new names of a batch continue after those of the batch before.
    source.texts.resize(batch.first_new_name);
    source.ids.resize(batch.first_new_name);
    for (const std::string& name : batch.new_names) {
      source.texts.push_back(name);
      source.ids.push_back(0);
    }
    for (const RawRange& range : batch.ranges)
      ranges_.insert({shard,
                      range.tid,
                      id(source, range.name),
                      id(source, range.domain),
                      range.mark ? store::RangeKind::mark : store::RangeKind::push_pop,
                      -1,
                      range.start_ns,
                      range.end_ns,
                      {}});
    for (const RawSlice& raw : batch.slices) {
      const Slice& slice = raw.slice;
      if (slice.work == Work::copy || slice.work == Work::set)
        copies_.insert({shard, copy_kind(source.texts[slice.name], slice.work), slice.device, slice.stream,
                        raw.correlation, slice.start_ns, slice.end_ns, raw.bytes});
      else
        kernels_.insert({shard, id(source, slice.name), slice.device, slice.stream, raw.correlation, slice.start_ns,
                         slice.end_ns, raw.grid, raw.block, raw.registers, raw.shared_bytes});
    }
    for (const RawCall& call : batch.calls)
      calls_.insert({shard, call.driver ? "driver" : "runtime", call.callback, call.tid, call.correlation,
                     call.start_ns, call.end_ns, call.name == 0 ? std::nullopt : std::optional(id(source, call.name))});
  }

 private:
  struct Source {
    std::vector<std::string> texts;
    std::vector<std::int64_t> ids;  // row id in the database; 0: not written yet
  };

  std::int64_t id(Source& source, std::uint32_t name) {
    std::int64_t& id = source.ids[name];
    if (id == 0) id = strings_.intern(source.texts[name]);
    return id;
  }

  std::int64_t first_shard_;
  std::map<std::size_t, Source> sources_;
  store::StringInterner strings_;
  store::Inserter<store::RangeRow> ranges_;
  store::Inserter<store::KernelRow> kernels_;
  store::Inserter<store::MemcpyRow> copies_;
  store::Inserter<store::ApiCallRow> calls_;
};

}  // namespace

RowWriter::RowWriter(store::Database& database, std::int64_t first_shard, std::size_t lanes)
    : database_(database), first_shard_(first_shard), lanes_(lanes) {
  for (Lane& lane : lanes_) lane.writer = this;
  thread_ = std::thread([this] { run(); });
}

RowWriter::~RowWriter() {
  {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

RawSink& RowWriter::lane(std::size_t index) { return lanes_[index]; }

void RowWriter::Lane::take(RawBatch&& batch) {
  std::unique_lock lock(writer->mutex_);
  writer->changed_.wait(lock, [this] { return waiting.size() < most_waiting || writer->failure_; });
  if (writer->failure_) std::rethrow_exception(writer->failure_);
  waiting.push_back(std::move(batch));
  lock.unlock();
  writer->changed_.notify_all();
}

void RowWriter::end_lane(std::size_t index) {
  {
    const std::lock_guard lock(mutex_);
    lanes_[index].ended = true;
  }
  changed_.notify_all();
}

void RowWriter::close() {
  thread_.join();
  if (failure_) std::rethrow_exception(failure_);
}

void RowWriter::run() {
  try {
    Writer writer(database_, first_shard_);
    std::size_t turn = 0, passed = 0;
    while (passed < lanes_.size()) {
      Lane& lane = lanes_[turn++ % lanes_.size()];
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !lane.waiting.empty() || lane.ended || abandoned_; });
      if (abandoned_) return;
      if (lane.waiting.empty()) {
        ++passed;
        continue;
      }
      passed = 0;
      const RawBatch batch = std::move(lane.waiting.front());
      lane.waiting.pop_front();
      lock.unlock();
      changed_.notify_all();
      writer.write(batch);
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
    changed_.notify_all();
  }
}

}  // namespace ddpprof::import
