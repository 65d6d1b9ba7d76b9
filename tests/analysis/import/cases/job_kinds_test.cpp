// Kinds of jobs and dialects of the profiler, in variants of made_trace.hpp. Expected values follow from its intervals and
// from the sizes that the variant states.
#include <gmock/gmock.h>

#include <functional>

#include "tests/analysis/import/cases/made_trace.hpp"
#include "tests/analysis/import/cases/measured_steps.hpp"

namespace ddpprof::import {
namespace {

using testing::HasSubstr;

constexpr std::int64_t model_bytes = 256 * 256 * 4;

// Replaces a text in all events of the steps for which `of_step` holds.
void replace_in(TraceText& trace, const std::string& from, const std::string& to,
                const std::function<bool(std::int64_t)>& of_step = [](std::int64_t) { return true; }) {
  for (std::string& event : trace.events) {
    const std::int64_t at_us = std::stoll(event.substr(event.find("\"ts\": ") + 6));
    if (event.find(from) != std::string::npos && of_step((at_us - 1'000'000'000) / 4000)) event = replaced(event, from, to);
  }
}

// Adds to each step a call of a collective at `called_us`, its launch, and its kernel from `start_us` on.
void add_collective(TraceText& trace, const MadeTrace& made, int number, int called_us, int start_us, int lasts_us,
                    const std::string& kernel, const std::string& arguments) {
  for (int step = 0; step < made.steps; ++step) {
    const auto at = [&](int us) { return std::to_string(made.at_us + 4000 * step + us); };
    const std::string id = std::to_string(100'000 + 100 * number + step);
    const std::string external = "\"External id\": " + id, correlation = "\"correlation\": " + id;
    trace.events.push_back(complete_event("cpu_op", "record_param_comms", at(called_us), "6", "100", "100",
                                          external + ", " + arguments));
    trace.events.push_back(complete_event("cuda_runtime", "cudaLaunchKernelExC", at(called_us + 1), "4", "100", "100",
                                          external + ", " + correlation));
    trace.events.push_back(complete_event("kernel", kernel, at(start_us), std::to_string(lasts_us), "0", "20",
                                          R"("device": 0, "stream": 20, )" + external + ", " + correlation + ", " +
                                              arguments));
  }
}

void expect_exposed_us(const Case& found, std::int64_t communication_us, std::int64_t exposed_us) {
  ASSERT_EQ(found.imported.error, "");
  ASSERT_FALSE(found.steps.empty());
  for (const MeasuredStep& step : found.steps) {
    EXPECT_EQ(step.compute_ns, 1'000'000);
    EXPECT_EQ(step.communication_ns, 1000 * communication_us);
    EXPECT_EQ(step.exposed_ns, 1000 * exposed_us);
  }
}

TEST(cases_of_devices, AmdAndIntelAreReadAsNvidia) {
  for (const auto& [runtime, launch, kernel] :
       {std::tuple{"cuda_runtime", "hipLaunchKernel", "ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)"},
        {"hip_runtime", "hipExtModuleLaunchKernel", "ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)"},
        {"xpu_runtime", "urEnqueueKernelLaunch", "oneccl_allreduce_medium"}}) {
    MadeTrace made;
    made.runtime = runtime;
    made.launch = launch;
    made.kernel = kernel;
    const Case found = import_text(made.text());
    expect_exposed_us(found, 1000, 800);
    EXPECT_EQ(found.parameter_bytes, model_bytes) << launch;
    EXPECT_EQ(found.strategy, "ddp") << launch;
  }
}

// The hook sends two factors of 256 elements instead of a gradient of 256 × 256.
TEST(cases_of_hooks, PowerSgdDoesNotMakeTheModelSmaller) {
  TraceText trace = MadeTrace{}.trace();
  replace_in(trace, "[[[65536]]]", "[[[512]]]");
  replace_in(trace, R"("In msg nelems": 65536, "Out msg nelems": 65536)", R"("In msg nelems": 512, "Out msg nelems": 512)");
  const Case found = import_text(trace.text());
  expect_exposed_us(found, 1000, 800);
  EXPECT_EQ(found.strategy, "ddp");
  EXPECT_EQ(found.parameter_bytes, model_bytes);
  EXPECT_THAT(found.message("gradients_unlike_messages"), HasSubstr("all-reduces in backward have 2048 bytes"));
}

TEST(cases_of_hooks, MessagesInBfloat16AreHalfOfTheGradients) {
  TraceText trace = MadeTrace{}.trace();
  replace_in(trace, R"("dtype": "Float")", R"("dtype": "BFloat16")");
  replace_in(trace, R"("Input Dims": [[[65536]]], "Input type": [["float"]])",
             R"("Input Dims": [[[65536]], [], [], []], "Input type": ["TensorList", "", "", ""])");
  const Case found = import_text(trace.text());
  expect_exposed_us(found, 1000, 800);
  EXPECT_EQ(found.parameter_bytes, model_bytes);
  EXPECT_FALSE(found.told("gradients_unlike_messages"));
}

TEST(cases_of_barriers, OneInEachStepIsCommunicationAndNoBucket) {
  const MadeTrace made;
  TraceText trace = made.trace();
  add_collective(trace, made, 1, 3000, 3010, 300, "ncclDevKernel_AllReduce_Sum_u8_RING_LL",
                 R"("Collective name": "barrier", "In msg nelems": 1, "Out msg nelems": 1, "dtype": "Byte", )" + made.group);
  const Case found = import_text(trace.text());
  expect_exposed_us(found, 1300, 1100);
  EXPECT_EQ(found.parameter_bytes, model_bytes);
  EXPECT_EQ(found.strategy, "ddp");
}

// Two ranks exchange parts of sequences, and reduce all gradients: a step has the 32 samples of one of them.
TEST(cases_of_sequences, RanksThatDivideThemShareTheirSamples) {
  const MadeTrace made;
  TraceText trace = made.trace();
  for (int i = 0; i < 4; ++i)
    add_collective(trace, made, i, 70 + 10 * i, 300 + 50 * i, 40, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
                   R"("Collective name": "all_to_all", "In msg nelems": 4096, "Out msg nelems": 4096, )"
                   R"("dtype": "BFloat16", "In split size": "[]", "Out split size": "[]", )" +
                       made.group);
  const Case found = import_text(trace.text());
  expect_exposed_us(found, 1160, 800);
  EXPECT_EQ(found.strategy, "other");
  EXPECT_THAT(found.message("samples_of_replicas"), HasSubstr("a step has the samples of one rank"));
}

// prof.step() after each step of an actor and of a critic with a quarter of its parameters.
TEST(cases_of_two_models, AnnotatedInTurnAreReported) {
  MadeTrace made;
  made.steps = 6;
  EXPECT_FALSE(import_text(made.text()).told("optimizers_mixed"));
  TraceText trace = made.trace();
  const auto critic = [](std::int64_t step) { return step % 2 == 1; };
  replace_in(trace, "[[256, 256]]", "[[256, 64]]", critic);
  replace_in(trace, "[[[65536]]]", "[[[16384]]]", critic);
  replace_in(trace, R"("In msg nelems": 65536, "Out msg nelems": 65536)",
             R"("In msg nelems": 16384, "Out msg nelems": 16384)", critic);
  EXPECT_THAT(import_text(trace.text()).message("optimizers_mixed"), HasSubstr("gradients of several sizes"));
}

TEST(cases_of_batches, RowsOfAMatrixProductAreReported) {
  TraceText trace = MadeTrace{}.trace();
  EXPECT_FALSE(import_text(trace.text()).told("batch_of_rows"));
  replace_in(trace, R"([[32, 256], [256, 256], []])", R"([[256], [4096, 256], [256, 256]])");
  replace_in(trace, R"(["float", "float", ""])", R"(["float", "float", "float"])");
  replace_in(trace, "aten::linear", "aten::addmm");
  const Case found = import_text(trace.text());
  EXPECT_EQ(found.batch, 4096);
  EXPECT_THAT(found.message("batch_of_rows"), HasSubstr("(aten::addmm), 4096"));
}

}  // namespace
}  // namespace ddpprof::import
