#include "runner/worker/memory/device_memory.hpp"

#include <ATen/DeviceAccelerator.h>

#include "runner/worker/memory/counting_allocator.hpp"

namespace ddpprof::worker {
namespace {

// DataParallel uses the first devices; a DDP rank has one device.
c10::DeviceIndex gpu(const Context& context, int index) {
  return static_cast<c10::DeviceIndex>(context.strategy == scenario::Strategy::dp ? index : context.device.index());
}

memory::Bytes read(const Context& context, int index) {
  if (!context.device.is_cuda()) return memory::read(index);
  const auto stats = at::getDeviceAllocator(context.device.type())->getDeviceStats(gpu(context, index));
  const auto& bytes = stats.allocated_bytes[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
  return {bytes.current, bytes.peak};
}

}  // namespace

void begin_memory_window(const Context& context) {
  if (!context.device.is_cuda()) return memory::reset_peaks();
  for (int i = 0; i < context.replicas; ++i)
    at::getDeviceAllocator(context.device.type())->resetPeakStats(gpu(context, i));
}

nlohmann::json device_memory(const Context& context) {
  auto list = nlohmann::json::array();
  if (!context.device.is_cuda() && !memory::counting()) return list;
  for (int i = 0; i < context.replicas; ++i) {
    const auto bytes = read(context, i);
    list.push_back({{"device", i}, {"held_bytes", bytes.held}, {"peak_bytes", bytes.peak}});
  }
  return list;
}

}  // namespace ddpprof::worker
