// The cost of one annotation through NVTX's own API with the tracer injected: the clock, then each kind of event.
//
// Iterations are fixed so that the shard's cap is never reached (a dropped record is cheaper than a kept one); the
// program fails if a record was dropped.
#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <time.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include "tracer/format/payload_schemas.hpp"
#include "tracer/format/shard_format.hpp"
#include "tracer/format/vocabulary.hpp"

namespace {

using ddpprof::vocabulary::CollectiveInfo;

constexpr int iterations = 400'000;

nvtxDomainHandle_t domain() {
  static nvtxDomainHandle_t const handle = nvtxDomainCreateA(ddpprof::vocabulary::domain_name);
  return handle;
}

nvtxEventAttributes_t registered_event() {
  static nvtxStringHandle_t const name = nvtxDomainRegisterStringA(domain(), "forward");
  nvtxEventAttributes_t event = {};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = name;
  return event;
}

std::uint64_t collective_schema() {
  static const std::uint64_t id = [] {
    using Schema = ddpprof::vocabulary::CollectiveSchema;
    std::array<nvtxPayloadSchemaEntry_t, Schema::fields.size()> fields{};
    for (std::size_t i = 0; i < fields.size(); ++i) {
      fields[i].type = static_cast<std::uint64_t>(Schema::fields[i].type);
      fields[i].name = Schema::fields[i].name, fields[i].offset = Schema::fields[i].offset_bytes;
    }
    nvtxPayloadSchemaAttr_t schema = {};
    schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
    schema.name = Schema::name, schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    schema.entries = fields.data(), schema.numEntries = fields.size(),
    schema.payloadStaticSize = sizeof(CollectiveInfo);
    return nvtxPayloadSchemaRegister(domain(), &schema);
  }();
  return id;
}

void clock_floor(benchmark::State& state) {
  for (auto _ : state) {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    benchmark::DoNotOptimize(now);
  }
}
BENCHMARK(clock_floor);

// The limit of 100 ns applies to `per_event`: processor time of the annotating thread, page faults in the shard
// included. (Wall time would include other programs.)
void per_event(benchmark::State& state, int events) {
  state.counters["per_event"] = benchmark::Counter(static_cast<double>(state.iterations()) * events,
                                                   benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void push_pop_registered(benchmark::State& state) {
  const nvtxEventAttributes_t event = registered_event();
  for (auto _ : state) {
    nvtxDomainRangePushEx(domain(), &event);
    nvtxDomainRangePop(domain());
  }
  per_event(state, 2);
}

void push_pop_text(benchmark::State& state) {
  for (auto _ : state) {
    nvtxRangePushA("a name of some length");
    nvtxRangePop();
  }
  per_event(state, 2);
}

void mark_int64(benchmark::State& state) {
  nvtxEventAttributes_t event = registered_event();
  event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  for (auto _ : state) {
    ++event.payload.llValue;
    nvtxDomainMarkEx(domain(), &event);
  }
  per_event(state, 1);
}

void mark_extended(benchmark::State& state) {
  CollectiveInfo info{1, 0, 4096, 0, 0};
  const nvtxPayloadData_t data = {collective_schema(), sizeof info, &info};
  nvtxEventAttributes_t event = registered_event();
  event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  event.reserved0 = 1;
  event.payload.ullValue = NVTX_POINTER_AS_PAYLOAD_ULLVALUE(&data);
  for (auto _ : state) {
    ++info.sequence;
    benchmark::ClobberMemory();
    nvtxDomainMarkEx(domain(), &event);
  }
  per_event(state, 1);
}

void start_end_extended(benchmark::State& state) {
  CollectiveInfo info{1, 0, 4096, 0, 0};
  const nvtxPayloadData_t data = {collective_schema(), sizeof info, &info};
  nvtxEventAttributes_t event = registered_event();
  event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  event.reserved0 = 1;
  event.payload.ullValue = NVTX_POINTER_AS_PAYLOAD_ULLVALUE(&data);
  for (auto _ : state) {
    ++info.sequence;
    benchmark::ClobberMemory();
    nvtxDomainRangeEnd(domain(), nvtxDomainRangeStartEx(domain(), &event));
  }
  per_event(state, 2);
}

BENCHMARK(push_pop_registered)->Iterations(iterations)->ThreadRange(1, 2);
BENCHMARK(push_pop_text)->Iterations(iterations)->ThreadRange(1, 2);
BENCHMARK(mark_int64)->Iterations(iterations)->ThreadRange(1, 2);
BENCHMARK(mark_extended)->Iterations(iterations)->ThreadRange(1, 2);
BENCHMARK(start_end_extended)->Iterations(iterations)->ThreadRange(1, 2);

std::uint64_t dropped_in(const std::filesystem::path& folder, std::uint64_t& shards) {
  std::uint64_t dropped = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    file.seekg(offsetof(ddpprof::trace::ShardHeader, dropped_records));
    std::uint64_t count = 0;
    file.read(reinterpret_cast<char*>(&count), sizeof count);
    dropped += count;
    ++shards;
  }
  return dropped;
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder = (std::filesystem::temp_directory_path() / "ddpprof-benchmark-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    std::perror("a temporary folder for the shard");
    return 1;
  }
  setenv("DDPPROF_TRACE_DIR", folder.c_str(), 1);
  setenv("DDPPROF_TRACE_MAX_MB", "4096", 1);
  setenv("NVTX_INJECTION64_PATH", TRACER_LIBRARY, 1);  // NVTX reads it at the first annotation
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  nvtxMarkA("end");
  std::uint64_t shards = 0;
  const std::uint64_t dropped = dropped_in(folder, shards);
  std::filesystem::remove_all(folder);
  if (shards != 1 || dropped != 0) {
    std::fprintf(stderr, "invalid: %llu shards, %llu records dropped; expected one shard and none\n",
                 static_cast<unsigned long long>(shards), static_cast<unsigned long long>(dropped));
    return 1;
  }
  return 0;
}
