// The cost of a kernel's record from CUPTI's buffer to the shard, without a GPU: full buffers of kernels, as from
// CUPTI. The program fails if a record was dropped.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tracer/record/cupti/session.hpp"
#include "tracer/record/recorder/recorder.hpp"

namespace {

using namespace ddpprof::record;

constexpr std::size_t record_bytes = sizeof(CUpti_ActivityKernel8);
constexpr std::size_t records = CuptiBuffers::bytes / record_bytes;
constexpr int iterations = 200;  // 5 times over: 0.5 GiB of shard, below the default cap

class FullBuffers final : public CuptiApi {
 public:
  CUptiResult get_version(std::uint32_t& version) override { return version = 130100, CUPTI_SUCCESS; }
  CUptiResult get_timestamp(std::uint64_t& time) override { return time = 0, CUPTI_SUCCESS; }
  CUptiResult register_callbacks(CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc) override {
    return CUPTI_SUCCESS;
  }
  CUptiResult register_timestamp_callback(CUpti_TimestampCallbackFunc) override { return CUPTI_SUCCESS; }
  CUptiResult use_system_thread_ids() override { return CUPTI_SUCCESS; }
  CUptiResult enable(CUpti_ActivityKind) override { return CUPTI_SUCCESS; }
  CUptiResult enable_driver_call(CUpti_CallbackId) override { return CUPTI_SUCCESS; }
  CUptiResult disable_runtime_call(CUpti_CallbackId) override { return CUPTI_SUCCESS; }
  CUptiResult flush_all(std::uint32_t) override { return CUPTI_SUCCESS; }
  CUptiResult next_record(std::uint8_t* buffer, std::size_t valid_bytes, CUpti_Activity** record) override {
    auto* next = *record == nullptr ? buffer : reinterpret_cast<std::uint8_t*>(*record) + record_bytes;
    if (next + record_bytes > buffer + valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    return *record = reinterpret_cast<CUpti_Activity*>(next), CUPTI_SUCCESS;
  }
  CUptiResult dropped_records(CUcontext, std::uint32_t, std::size_t& count) override {
    return count = 0, CUPTI_SUCCESS;
  }
  std::string message(CUptiResult) override { return ""; }
  std::optional<int> driver_version() override { return std::nullopt; }
};

void cupti_kernels(benchmark::State& state) {
  // Like in a training: a few dozen names, each many times.
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i)
    names.push_back("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEEvT1_" +
                    std::to_string(i));
  CuptiSession session(std::make_unique<FullBuffers>());
  CuptiSession::set_current(&session);
  if (!session.start()) return state.SkipWithError("the session does not start");
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();
    std::size_t size = 0;
    std::uint8_t* buffer = session.request(size);
    CUpti_ActivityKernel8 kernel{};
    kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kernel.start = session.timestamp(), kernel.end = kernel.start + 10'000;
    for (std::size_t i = 0; i < records; ++i) {
      kernel.name = names[i % names.size()].c_str();
      std::memcpy(buffer + i * record_bytes, &kernel, record_bytes);
    }
    state.ResumeTiming();
    session.complete(nullptr, 0, buffer, records * record_bytes);
  }
  CuptiSession::set_current(nullptr);
  state.counters["per_event"] =
      benchmark::Counter(static_cast<double>(records) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(cupti_kernels)->Iterations(iterations);

}  // namespace

int main(int argc, char** argv) {
  std::string folder = (std::filesystem::temp_directory_path() / "ddpprof-cupti-benchmark-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  setenv("DDPPROF_TRACE_DIR", folder.c_str(), 1);
  if (!Recorder::instance().activate()) return 1;
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  std::uint64_t dropped = 0;
  {
    const Entry entry;
    if (entry) dropped = entry->shard().header().dropped_records.load();
    if (!entry) dropped = 1;
  }
  std::filesystem::remove_all(folder);
  if (dropped == 0) return 0;
  std::fprintf(stderr, "%llu records were dropped: the figures are not the cost of recording\n",
               static_cast<unsigned long long>(dropped));
  return 1;
}
