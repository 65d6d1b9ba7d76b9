// Further inputs of the kinds of kineto_cases_test.cpp. Expected values follow from the intervals of made_trace.hpp.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <tuple>

#include "tests/analysis/import/cases/made_trace.hpp"
#include "tests/analysis/import/cases/measured_steps.hpp"

namespace ddpprof::import {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Case import_texts(const std::vector<std::pair<std::string, std::string>>& files) {
  const Folder folder;
  std::vector<std::filesystem::path> paths;
  for (const auto& [name, text] : files) paths.push_back(folder.write(name, text));
  return import_case(paths);
}

void expect_parts(const Case& found) {
  ASSERT_EQ(found.imported.error, "");
  ASSERT_FALSE(found.steps.empty());
  for (const MeasuredStep& step : found.steps) {
    EXPECT_EQ(step.communication_ns, MadeTrace::communication_ns);
    EXPECT_EQ(step.overlapped_ns, MadeTrace::overlapped_ns);
    EXPECT_EQ(step.exposed_ns, MadeTrace::exposed_ns);
  }
}

// Kernels whose names are not known.

TEST(cases_of_kernel_names, TheLaunchsOperationIsACall) {
  MadeTrace made;
  made.kernel = "acme_move_bytes";
  const Case found = import_text(made.text());
  expect_parts(found);
  EXPECT_EQ(found.strategy, "ddp");
  EXPECT_EQ(found.parameter_bytes, 256 * 256 * 4);
}

TEST(cases_of_kernel_names, ALaunchWithoutIdInsideOfACall) {
  MadeTrace made;
  made.kernel = "acme_move_bytes";
  made.launch_ids = false;
  expect_parts(import_text(made.text()));
}

TEST(cases_of_kernel_names, ACollectivesNameInTheKernelsArguments) {
  MadeTrace made;
  made.kernel = "acme_move_bytes";
  made.launches = false;
  made.kernel_arguments =
      R"("Collective name": "allreduce", "In msg nelems": 65536, "dtype": "Float", "Group size": 2)";
  expect_parts(import_text(made.text()));
}

TEST(cases_of_kernel_names, CallsWhoseKernelsAreNotKnownAreReported) {
  MadeTrace made;
  made.kernel = "acme_move_bytes";
  made.launches = false;
  const Case found = import_text(made.text());
  ASSERT_EQ(found.imported.error, "");
  EXPECT_EQ(found.strategy, "other");
  EXPECT_THAT(found.message("collective_kernels_unknown"), HasSubstr("3 all-reduces"));
}

TEST(cases_of_kernel_names, FamiliesWithoutCalls) {
  for (const char* name :
       {"hcom_allReduce__123_1_1", "c10d::symmetric_memory::two_shot_all_reduce_kernel<float>",
        "multimem_all_reduce_kernel<c10::BFloat16>", "mscclpp::allreduce<float>", "oneccl_allreduce_small<tree>",
        "void deep_ep::intranode::combine<__nv_bfloat16>",
        "void dpsk::ep::internode::combine<false, 8, __nv_bfloat16, 8, 2>", "nvshmemi_alltoall_on_stream_kernel"}) {
    SCOPED_TRACE(name);
    MadeTrace made;
    made.kernel = name;
    made.calls = false;
    expect_parts(import_text(made.text()));
  }
}

TEST(cases_of_kernel_names, ExpertsOfDeepEpInOneHost) {
  MadeTrace made;
  made.kernel = "void deep_ep::intranode::dispatch<8, 768>";
  made.calls = false;
  const Case found = import_text(made.text());
  EXPECT_EQ(found.strategy, "other");
  EXPECT_THAT(found.message("not_data_parallel"), HasSubstr("3 all-to-alls"));
}

// Kernels of all collectives may have the name of sends. Only the call around the launch has the operation and size.
TEST(cases_of_kernel_names, ExternalIdsThatRepeatTheCorrelation) {
  MadeTrace made;
  made.kernel = "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t";
  made.ids_are_correlations = true;
  const Case found = import_text(made.text());
  expect_parts(found);
  EXPECT_EQ(found.strategy, "ddp");
  EXPECT_EQ(found.parameter_bytes, 256 * 256 * 4);
}

TEST(cases_of_kernel_names, TheLayoutOfDeepEpOnlyComputes) {
  MadeTrace made;
  made.kernel = "void deep_ep::layout::get_dispatch_layout<256>";
  made.calls = false;
  const Case found = import_text(made.text());
  for (const MeasuredStep& step : found.steps) EXPECT_EQ(step.communication_ns, 0);
}

TEST(cases_of_kernel_names, AnnotatedAllToAllsThatRunAsSends) {
  MadeTrace made;
  made.calls = false;
  made.kernel = "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t";
  TraceText trace = made.trace();
  for (int step = 0; step < made.steps; ++step)
    trace.events.push_back(complete_event("user_annotation", "nccl:all_to_all",
                                          std::to_string(made.at_us + 4000 * step + 375), "20", "100", "100",
                                          "\"External id\": " + std::to_string(10 * step + 5)));
  const Case found = import_text(trace.text());
  expect_parts(found);
  EXPECT_EQ(found.strategy, "other");
  EXPECT_THAT(found.message("not_data_parallel"), HasSubstr("3 all-to-alls"));
}

// Times of device events.

TEST(cases_of_times, AnAllReduceAtZeroAndAKernelADayLaterAreLeftOut) {
  TraceText trace = MadeTrace{}.trace();
  trace.event_with("ncclDevKernel", "1000000900") =
      replaced(trace.event_with("ncclDevKernel", "1000000900"), "\"ts\": 1000000900", "\"ts\": 0");
  trace.event_with("sgemm", "1000004100") =
      replaced(trace.event_with("sgemm", "1000004100"), "\"ts\": 1000004100", "\"ts\": 87400000000");
  const Case found = import_text(trace.text());
  ASSERT_EQ(found.imported.error, "");
  EXPECT_EQ(found.imported.counts().at("device_events_misplaced"), 2);
  EXPECT_EQ(found.imported.all().collective_kernels, 2);
  EXPECT_EQ(found.imported.totals.at(0).at("all").span_ns, 9'800'000);  // from 100 us to 8000 + 1900 us
  EXPECT_EQ(found.imported.rows.at("kernel"), 4) << "the timeline has no such event either";
}

TEST(cases_of_times, DevicesWithAnotherClockAreKept) {
  TraceText trace = MadeTrace{}.trace();
  for (std::string& event : trace.events)
    if (event.find("\"kernel\"") != std::string::npos) event = replaced(event, "\"ts\": 100", "\"ts\": 102");
  const Case found = import_text(trace.text());
  ASSERT_EQ(found.imported.error, "");
  EXPECT_FALSE(found.told("device_events_misplaced"));
  EXPECT_EQ(found.imported.all().kernels, 3);
}

// The identity of a run.

TEST(cases_of_identity, RanksByStartAndStride) {
  MadeTrace made;
  made.distributed = "";
  made.group = R"("Group size": 4, "Process Group Name": "3", "Global rank start": 1, "Global rank stride": 8)";
  EXPECT_EQ(import_text(made.text()).imported.result.world_size, 26);  // ranks 1, 9, 17, 25
}

TEST(cases_of_identity, TheRankIsInAllGroups) {
  MadeTrace made;
  made.distributed =
      R"("distributedInfo": {"backend": "nccl", "pg_config": [{"pg_name": "0", "pg_size": 8, "ranks": []},
    {"pg_name": "1", "pg_size": 2, "ranks": [4, 5]}, {"pg_name": "2", "pg_size": 4, "ranks": [1, 3, 5, 7]}]})";
  made.group = R"("Group size": 8, "Process Group Name": "0")";
  const Case found = import_text(made.text());
  EXPECT_EQ(found.imported.result.world_size, 8);
  EXPECT_THAT(found.ranks, ElementsAre(5));
  EXPECT_FALSE(found.told("rank_unknown"));
}

TEST(cases_of_identity, DistributedInfoComesFirst) {
  MadeTrace made;
  made.distributed = R"("distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 4})";
  const Case found = import_text(made.text());
  EXPECT_EQ(found.imported.result.world_size, 4);
  EXPECT_FALSE(found.told("identity_by_collectives"));
}

// Each of two processes states a world size of 1, but their collectives are of groups of 2 ranks.
TEST(cases_of_identity, GroupsOfMoreRanksThanStatedComeFirst) {
  MadeTrace made;
  made.distributed = R"("distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1})";
  const Case found = import_texts({{"rank0.json", made.text()}, {"rank1.json", made.text()}});
  EXPECT_EQ(found.imported.result.world_size, 2);
  EXPECT_THAT(found.ranks, ElementsAre(0, 1));
  EXPECT_EQ(found.imported.told.count("world_size_contradicted"), 2U);
  EXPECT_THAT(found.message("world_size_contradicted"), HasSubstr("a world size of 1"));
}

// One invalid size is not evidence.
TEST(cases_of_identity, OneLargerGroupDoesNotContradictTheStatedSize) {
  TraceText trace = MadeTrace{}.trace();
  std::string& call = trace.event_with("record_param_comms");
  call = replaced(call, R"("Group size": 2)", R"("Group size": 200)");
  const Case found = import_text(trace.text());
  EXPECT_EQ(found.imported.result.world_size, 2);
  EXPECT_FALSE(found.told("world_size_contradicted"));
}

TEST(cases_of_identity, ThreeCyclesOfOneOfTwoRanks) {
  MadeTrace first, second, third;
  second.at_us += 1'000'000;
  second.first_step = 10;
  third.at_us += 2'000'000;
  third.first_step = 20;
  const Case found = import_texts({{"a.json", first.text()}, {"c.json", third.text()}, {"b.json", second.text()}});
  expect_parts(found);
  EXPECT_EQ(found.steps.size(), 9U);
  EXPECT_THAT(found.ranks, ElementsAre(0));
  EXPECT_EQ(found.imported.result.world_size, 2);
  EXPECT_FALSE(found.told("rank_twice"));
  EXPECT_EQ(found.imported.rows.at("collective"), 9);
  EXPECT_EQ(found.imported.rows.at("kernel"), 18);
}

TEST(cases_of_identity, CyclesWithBasesOfTheirOwn) {
  MadeTrace made;
  made.at_us = 1000;
  TraceText first = made.trace();
  made.first_step = 10;
  TraceText second = made.trace();
  first.before.push_back(R"("baseTimeNanoseconds": 1700000000000000000)");
  second.before.push_back(R"("baseTimeNanoseconds": 1700000005000000000)");
  const Case found = import_texts({{"a.json", first.text()}, {"b.json", second.text()}});
  expect_parts(found);
  EXPECT_EQ(found.steps.size(), 6U);
  EXPECT_GE(found.wall_ns, 5'000'000'000);
}

TEST(cases_of_identity, EqualProcessIdsAtTheSameTimeAreTwoRanks) {
  MadeTrace one;  // in containers, all process ids are alike
  one.distributed = "";
  const Case found = import_texts({{"rank0.json", one.text()}, {"rank1.json", one.text()}});
  EXPECT_THAT(found.ranks, ElementsAre(0, 1));
  EXPECT_FALSE(found.told("cycles_joined"));
}

TEST(cases_of_identity, RunsOfOneAndOfTwoRanksAreNotMixed) {
  MadeTrace one, two;
  one.distributed = R"("distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1})";
  one.group = R"("Group size": 1, "Process Group Name": "0", "Process Group Ranks": "[0]")";
  two.pid = 200;
  two.at_us += 1'000'000;
  MadeTrace other = two;
  other.pid = 201;
  other.distributed = R"("distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2})";
  const Case found = import_texts({{"a.json", one.text()}, {"b.json", two.text()}, {"c.json", other.text()}});
  ASSERT_EQ(found.imported.error, "");
  ASSERT_EQ(found.imported.result.jobs.size(), 2U);
  EXPECT_EQ(found.imported.result.jobs[0].world_size, 1);
  EXPECT_EQ(found.imported.result.jobs[0].steps, 3);
  EXPECT_EQ(found.imported.result.jobs[1].world_size, 2);
  EXPECT_EQ(found.imported.result.jobs[1].steps, 6);
}

TEST(cases_of_identity, ARestartInTheSameContainerIsNoCycle) {
  MadeTrace first, again;
  again.at_us += 1'000'000;  // its steps are numbered from 0 again
  const Case found = import_texts({{"a.json", first.text()}, {"b.json", again.text()}});
  EXPECT_FALSE(found.told("cycles_joined"));
  EXPECT_TRUE(found.told("rank_twice"));
}

TEST(cases_of_identity, MergedRanksWithOneProcessId) {
  TraceText merged = MadeTrace{}.trace();
  for (const std::string& event : MadeTrace{}.trace().events) {
    const bool host = event.find("\"kernel\"") == std::string::npos;
    merged.events.push_back(host ? replaced(event, "\"tid\": 100", "\"tid\": 200") : event);
  }
  EXPECT_THAT(import_text(merged.text()).imported.error, HasSubstr("has several ranks"));
}

TEST(cases_of_identity, MergedRanksWithTextsAsProcessIds) {
  TraceText merged;
  for (const char* rank : {"\"rank 0\"", "\"rank 1\""})
    for (std::string& event : MadeTrace{}.trace().events)
      merged.events.push_back(event.find("\"pid\": 100") == std::string::npos
                                  ? event
                                  : replaced(event, "\"pid\": 100", "\"pid\": " + std::string(rank)));
  EXPECT_THAT(import_text(merged.text()).imported.error, HasSubstr("has several ranks"));
}

// Jobs on devices without events of devices.

TEST(cases_of_devices, LaunchesOfOtherVendors) {
  for (const auto& [category, call] : {std::pair{"hip_runtime", "hipLaunchKernel"},
                                       {"xpu_runtime", "urEnqueueKernelLaunch"},
                                       {"cuda_driver", "cuLaunchKernelEx"},
                                       {"privateuse1_runtime", "aclrtLaunchKernel"}}) {
    SCOPED_TRACE(call);
    MadeTrace made;
    made.kernels = false;
    made.runtime = category;
    made.launch = call;
    const Case found = import_text(made.text());
    EXPECT_THAT(found.message("device_not_recorded"), HasSubstr(call));
    EXPECT_EQ(found.strategy, "other");
  }
}

TEST(cases_of_devices, OnlyTheBackendShowsThem) {
  MadeTrace made;
  made.kernels = made.launches = false;
  const Case found = import_text(made.text());
  EXPECT_TRUE(found.told("device_not_recorded"));
  EXPECT_EQ(found.device, "cuda");
}

TEST(cases_of_devices, AJobOnCpusOfAMachineWithGpusIsNone) {
  std::string text = MadeGloo{}.text();
  text = replaced(text, "\"distributedInfo\"", R"("deviceProperties": [{"name": "NVIDIA A100"}], "distributedInfo")");
  const Case found = import_text(text);
  EXPECT_FALSE(found.told("device_not_recorded"));
  EXPECT_EQ(found.device, "cpu");
}

// Regression: LSTM and GRU on a CPU ask whether cuDNN could compute them.
TEST(cases_of_devices, AQuestionOfCudnnIsNoWorkOfADevice) {
  for (const auto& [name, device] :
       {std::pair{"aten::cudnn_is_acceptable", "cpu"}, {"aten::cudnn_convolution", "cuda"}}) {
    std::string text = MadeGloo{}.text();
    text.insert(text.find('[', text.find("\"traceEvents\"")) + 1,
                complete_event("cpu_op", name, "1000000150", "10", "100", "100", "\"External id\": 9999") + ", ");
    const Case found = import_text(text);
    EXPECT_EQ(found.told("device_not_recorded"), device == std::string("cuda")) << name;
    EXPECT_EQ(found.device, device) << name;
  }
}

TEST(cases_of_devices, ProcessesOfAscendInAnObject) {
  MadeTrace made;
  made.kernels = made.launches = false;
  made.devices = R"("deviceProperties": [])";
  TraceText trace = made.trace();
  trace.events.push_back(
      R"({"ph": "M", "name": "process_name", "pid": 960, "tid": 0, "args": {"name": "Ascend Hardware"}})");
  trace.events.push_back(R"({"ph": "X", "name": "MatMulV2", "pid": 960, "tid": 3, "ts": 1000000400, "dur": 5,)"
                         R"( "args": {"Task Type": "AI_CORE", "Stream Id": 3}})");
  EXPECT_THAT(import_text(trace.text()).message("device_not_recorded"), HasSubstr("events of Ascend Hardware (1)"));
}

// JSON with other white space.

TEST(cases_of_white_space, AllFormsHaveTheSameShapes) {
  const nlohmann::json trace = nlohmann::json::parse(MadeTrace{}.text());
  std::string lines = trace.dump(4), windows;
  for (const char c : lines) windows += c == '\n' ? "\r\n" : std::string(1, c);
  for (const std::string& text : {trace.dump(), trace.dump(1, '\t'), lines, windows}) {
    const Case found = import_text(text);
    expect_parts(found);
    EXPECT_EQ(found.batch, 32);
    EXPECT_EQ(found.parameter_bytes, 256 * 256 * 4);
    EXPECT_FALSE(found.told("bad_event"));
  }
}

// Messages that do not carry gradients.

TEST(cases_of_buckets, TheMapOfUsedParametersIsNoBucket) {
  MadeTrace made;
  TraceText trace = made.trace();
  for (std::string& event : trace.events)  // without shapes only sizes and types distinguish messages
    if (event.find("AccumulateGrad") != std::string::npos)
      event = replaced(event, R"(, "Input Dims": [[256, 256]], "Input type": ["float"])", "");
  for (int step = 0; step < made.steps; ++step) {
    const auto at = [&](int us) { return std::to_string(made.at_us + 4000 * step + us); };
    const std::string id = std::to_string(10 * step + 7), correlation = std::to_string(1000 + 10 * step + 7);
    trace.events.push_back(
        complete_event("cpu_op", "record_param_comms", at(440), "20", "100", "100",
                       "\"External id\": " + id +
                           R"(, "Collective name": "allreduce", "In msg nelems": 16, "dtype": "Int", )" + made.group));
    trace.events.push_back(complete_event("cpu_op", "AddmmBackward0", at(470), "20", "100", "100"));
    trace.events.push_back(complete_event("cuda_runtime", "cudaLaunchKernel", at(445), "5", "100", "100",
                                          "\"External id\": " + id + ", \"correlation\": " + correlation));
    trace.events.push_back(complete_event("kernel", "ncclDevKernel_AllReduce_Sum_u32_RING_LL", at(2000), "10", "0",
                                          "20", "\"device\": 0, \"stream\": 20, \"correlation\": " + correlation));
  }
  const Case found = import_text(trace.text());
  EXPECT_EQ(found.strategy, "ddp");
  EXPECT_EQ(found.parameter_bytes, 256 * 256 * 4);
}

// Kernels that the profiler lost.

TEST(cases_of_lost_kernels, AreNotTakenForGradientAccumulation) {
  MadeTrace made;
  made.steps = 4;
  TraceText trace = made.trace();
  std::erase_if(trace.events, [](const std::string& event) {  // the first step's all-reduce
    return event.find("ncclDevKernel") != std::string::npos && event.find("\"correlation\": 1002") != std::string::npos;
  });
  const Case found = import_text(trace.text());
  ASSERT_EQ(found.imported.error, "");
  EXPECT_FALSE(found.told("steps_without_reduction"));
  EXPECT_THAT(found.message("collective_kernels_lost"), HasSubstr("besides 3 with kernels"));
}

// prof.step() in each of four micro-batches, with one update in the trace: its place does not matter.
TEST(cases_of_micro_batches, WithOneUpdateAreSaidToBeAMixture) {
  for (const int update : {0, 1, 3}) {
    MadeTrace made;
    made.steps = 4;
    TraceText trace = made.trace();
    const auto step_of = [](const std::string& event) {
      const std::size_t at = event.find("\"ts\": ") + 6;
      return (std::stoll(event.substr(at)) - 1'000'000'000) / 4000;
    };
    std::erase_if(trace.events, [&](const std::string& event) {
      return step_of(event) != update &&
             (event.find("Optimizer.step") != std::string::npos || event.find("nccl") != std::string::npos ||
              event.find("allreduce") != std::string::npos);
    });
    const Case found = import_text(trace.text());
    ASSERT_EQ(found.imported.error, "");
    EXPECT_THAT(found.message("steps_without_reduction"), HasSubstr("besides 1 that do")) << update;
  }
}

// The two networks of a GAN, one after the other: each has a backward and an optimizer's step of its own.
TEST(cases_of_two_optimizers, InTurnAreNoGradientAccumulation) {
  MadeTrace made;
  made.steps = 6;
  TraceText trace = made.trace();
  std::erase_if(trace.events, [](const std::string& event) {  // one annotation per two backwards
    return event.find("ProfilerStep") != std::string::npos;
  });
  for (int step = 0; step < 3; ++step)
    trace.events.push_back(complete_event("user_annotation", "ProfilerStep#" + std::to_string(step),
                                          std::to_string(1'000'000'000 + 8000 * step), "7990", "100", "100"));
  const Case found = import_text(trace.text());
  ASSERT_EQ(found.imported.error, "");
  ASSERT_EQ(found.steps.size(), 3U);
  EXPECT_EQ(found.steps[1].samples, 32) << "the batch of one network";
  EXPECT_THAT(found.message("several_updates"), HasSubstr("2 optimizer steps"));
}

// prof.step() in each of two micro-batches.

TEST(cases_of_micro_batches, AnnotatedOneByOneAreOneStep) {
  MadeTrace made;
  made.steps = 6;
  TraceText trace = made.trace();
  const auto of_step = [](const std::string& event, int step) {
    return event.find("\"ts\": " + std::to_string(1'000'000'000 + 4000 * step + 600)) != std::string::npos;
  };
  std::erase_if(trace.events, [&](const std::string& event) {  // the optimizer runs after every second one
    return event.find("Optimizer.step") != std::string::npos &&
           (of_step(event, 0) || of_step(event, 2) || of_step(event, 4));
  });
  const Case found = import_text(trace.text());
  ASSERT_EQ(found.imported.error, "");
  EXPECT_THAT(found.message("micro_batches_annotated"), HasSubstr("once in 2 annotated steps"));
  ASSERT_EQ(found.steps.size(), 3U);
  EXPECT_EQ(found.steps[1].duration_ns, 8'000'000);
}

}  // namespace
}  // namespace ddpprof::import
