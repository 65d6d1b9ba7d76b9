#include "analysis/ingest/raw_writer.hpp"

namespace ddpprof::ingest {
namespace {

// CUpti_ActivityMemcpyKind (cupti_activity.h); 1000 is the tracer's own number for a memset.
std::string_view copy_kind(std::uint32_t kind) {
  switch (kind) {
    case 1:
      return "host_to_device";
    case 2:
      return "device_to_host";
    case 3:
      return "host_to_array";
    case 4:
      return "array_to_host";
    case 5:
      return "array_to_array";
    case 6:
      return "array_to_device";
    case 7:
      return "device_to_array";
    case 8:
      return "device_to_device";
    case 9:
      return "host_to_host";
    case 10:
      return "peer";
    case 1000:
      return "memset";
    default:
      return "unknown";
  }
}

// A damaged record may have any numbers: the product saturates instead of overflowing.
std::int64_t volume(const std::int32_t (&extent)[3]) {
  std::int64_t product = 1;
  for (std::int32_t side : extent)
    if (side < 0 || __builtin_mul_overflow(product, std::int64_t{side}, &product)) return side < 0 ? 0 : INT64_MAX;
  return product;
}

}  // namespace

void RawWriter::range(const Range& range) {
  store::RangeRow row{
      shard_id_,    range.tid,    strings_.intern(range.name), {}, range.kind, range.depth, range.start_ns,
      range.end_ns, range.payload};
  if (range.domain) row.domain_id = strings_.intern(*range.domain);
  ranges_.insert(row);
}

void RawWriter::kernel(const trace::KernelRecord& record, std::string_view name) {
  kernels_.insert({shard_id_, strings_.intern(name), record.device, record.stream, record.correlation_id,
                   record.header.time_ns, record.end_ns, volume(record.grid), volume(record.block),
                   record.registers_per_thread,
                   std::int64_t{record.static_shared_bytes} + std::int64_t{record.dynamic_shared_bytes}});
}

void RawWriter::copy(const trace::CopyRecord& record) {
  copies_.insert({shard_id_, copy_kind(record.kind), record.device, record.stream, record.correlation_id,
                  record.header.time_ns, record.end_ns, static_cast<std::int64_t>(record.bytes)});
}

void RawWriter::api(const trace::ApiRecord& record) {
  calls_.insert({shard_id_, record.domain == 1 ? "driver" : "runtime", record.cbid, record.thread,
                 record.correlation_id, record.header.time_ns, record.end_ns});
}

}  // namespace ddpprof::ingest
