#include "tests/worker/recording_tool.hpp"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <utility>

namespace ddpprof::test {
namespace {

std::mutex mutex;
std::vector<Recorded> records;
std::deque<std::string> strings;
std::atomic<std::uint64_t> next_range{1};

void keep(Kind kind, const nvtxEventAttributes_t* event, std::uint64_t range = 0) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  Recorded record{
      kind,  {}, now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec, static_cast<std::int64_t>(syscall(SYS_gettid)),
      range, {}};
  if (event) {
    record.name = event->messageType == NVTX_MESSAGE_TYPE_REGISTERED
                      ? *reinterpret_cast<const std::string*>(event->message.registered)
                      : event->message.ascii;
    if (event->payloadType == NVTX_PAYLOAD_TYPE_EXT) {
      const auto* data = reinterpret_cast<const nvtxPayloadData_t*>(event->payload.ullValue);
      const auto* bytes = static_cast<const unsigned char*>(data->payload);
      record.payload.assign(bytes, bytes + data->size);
    } else {
      const auto* bytes = reinterpret_cast<const unsigned char*>(&event->payload);
      record.payload.assign(bytes, bytes + sizeof(event->payload));
    }
  }
  const std::lock_guard lock(mutex);
  records.push_back(std::move(record));
}

nvtxDomainHandle_t NVTX_API domain_create(const char*) {
  static int domain;
  return reinterpret_cast<nvtxDomainHandle_t>(&domain);
}
nvtxStringHandle_t NVTX_API register_string(nvtxDomainHandle_t, const char* text) {
  const std::lock_guard lock(mutex);
  return reinterpret_cast<nvtxStringHandle_t>(&strings.emplace_back(text));
}
void NVTX_API mark(nvtxDomainHandle_t, const nvtxEventAttributes_t* event) { keep(Kind::mark, event); }
int NVTX_API push(nvtxDomainHandle_t, const nvtxEventAttributes_t* event) {
  keep(Kind::push, event);
  return 0;
}
int NVTX_API pop(nvtxDomainHandle_t) {
  keep(Kind::pop, nullptr);
  return 0;
}
nvtxRangeId_t NVTX_API start(nvtxDomainHandle_t, const nvtxEventAttributes_t* event) {
  const std::uint64_t range = next_range++;
  keep(Kind::start, event, range);
  return range;
}
void NVTX_API end(nvtxDomainHandle_t, nvtxRangeId_t range) { keep(Kind::end, nullptr, range); }

template <typename Function>
void install(NvtxFunctionTable table, unsigned size, int slot, Function* function) {
  if (static_cast<unsigned>(slot) < size) *table[slot] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

std::vector<Recorded> take_recorded() {
  const std::lock_guard lock(mutex);
  return std::exchange(records, {});
}

}  // namespace ddpprof::test

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  using namespace ddpprof::test;
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) return 0;
  install(table, size, NVTX_CBID_CORE2_DomainCreateA, domain_create);
  install(table, size, NVTX_CBID_CORE2_DomainRegisterStringA, register_string);
  install(table, size, NVTX_CBID_CORE2_DomainMarkEx, mark);
  install(table, size, NVTX_CBID_CORE2_DomainRangePushEx, push);
  install(table, size, NVTX_CBID_CORE2_DomainRangePop, pop);
  install(table, size, NVTX_CBID_CORE2_DomainRangeStartEx, start);
  install(table, size, NVTX_CBID_CORE2_DomainRangeEnd, end);
  return 1;
}
