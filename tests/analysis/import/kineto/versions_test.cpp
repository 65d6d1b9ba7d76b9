// One run as written by profilers of several versions and vendors: equal totals, steps and collectives.
#include <gmock/gmock.h>

#include "tests/analysis/import/kineto/trace_text.hpp"
#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  bool any = false;
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
    any = true;
  }
  ASSERT_TRUE(any) << from;
}

struct Version {
  std::string name;
  std::vector<std::pair<std::string, std::string>> spellings;
  bool distributed_info = true;
};

void PrintTo(const Version& version, std::ostream* out) { *out << version.name; }

const std::string dev_kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

class Versions : public testing::TestWithParam<Version> {};

TEST_P(Versions, SayTheSame) {
  TraceText trace = sound_trace(1, 2);
  if (!GetParam().distributed_info) trace.before.pop_back();
  std::string text = trace.text();
  for (const auto& [from, to] : GetParam().spellings) replace_all(text, from, to);
  const Folder folder;
  const Imported imported = import_files(folder, {folder.write("rank1.json", text)});
  ASSERT_EQ(imported.error, "");
  EXPECT_EQ(imported.told.count("bad_event"), 0U);
  EXPECT_EQ(imported.told.count("launch_unknown"), 0U);
  EXPECT_EQ(imported.result.world_size, 2);
  EXPECT_EQ(imported.result.steps, 3);
  ASSERT_EQ(imported.totals.count(1), 1U);
  const auto& windows = imported.totals.at(1);
  EXPECT_EQ(windows.size(), 4U) << "the whole and three steps";
  for (int step = 0; step < 3; ++step) {
    const DeviceTotals& totals = windows.at("ProfilerStep#" + std::to_string(step));
    EXPECT_EQ(totals.compute_ns, Sound::compute_ns);
    EXPECT_EQ(totals.communication_ns, Sound::communication_ns);
    EXPECT_EQ(totals.overlapped_ns, Sound::overlapped_ns);
    EXPECT_EQ(totals.memory_ns, Sound::memory_ns);
    EXPECT_EQ(totals.kernels, 4);
    EXPECT_EQ(totals.collective_kernels, 1);
    EXPECT_EQ(totals.span_ns, 1'000'000);
  }
  EXPECT_EQ(imported.rows.at("collective"), 3);
  EXPECT_EQ(imported.rows.at("kernel"), 15);
  EXPECT_EQ(imported.rows.at("memcpy"), 3);
  EXPECT_EQ(imported.rows.at("api_call"), 21);
}

INSTANTIATE_TEST_SUITE_P(
    Kineto, Versions,
    testing::Values(
        Version{"as_today", {}},
        Version{"torch_1_8",
                {{"\"kernel\"", "\"Kernel\""},
                 {"\"cpu_op\"", "\"Operator\""},
                 {"\"user_annotation\"", "\"Operator\""},
                 {"\"cuda_runtime\"", "\"Runtime\""},
                 {"\"gpu_memcpy\"", "\"Memcpy\""},
                 {dev_kernel, "ncclAllReduceRingLLKernel_sum_f32(ncclColl)"}},
                false},
        Version{"nccl_before_2_19", {{dev_kernel, "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)"}}},
        Version{"steps_as_operations", {{"\"user_annotation\"", "\"cpu_op\""}}},
        Version{"without_distributed_info", {}, false},
        Version{"external_id_instead_of_correlation",
                {{"\"External id\": ", "\"Ev Idx\": "}, {"\"correlation\"", "\"External id\""}}},
        Version{"ids_in_quotes", {{"\"pid\": 4711", "\"pid\": \"4711\""}, {"\"tid\": 7,", "\"tid\": \"stream 7\","}}},
        Version{"amd",
                {{"\"cuda_runtime\"", "\"hip_runtime\""},
                 {"\"cudaLaunchKernel\"", "\"hipLaunchKernel\""},
                 {"\"name\": \"gemm\"", "\"name\": \"hipLaunchKernel\""},
                 {"\"name\": \"" + dev_kernel + "\"", "\"name\": \"hipExtLaunchKernel\""},
                 {"\"stream\": 7, \"grid\"", "\"stream\": 7, \"kernel\": \"Cijk_Ailk\", \"grid\""},
                 {"\"stream\": 20, ", "\"stream\": 20, \"kernel\": \"ncclDevKernel_Generic(ncclArgs)\", "}}}),
    [](const testing::TestParamInfo<Version>& tested) { return tested.param.name; });

}  // namespace
}  // namespace ddpprof::import
