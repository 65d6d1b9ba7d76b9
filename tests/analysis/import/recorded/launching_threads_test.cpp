// Phases of a training without annotations, from the launching threads.
#include "analysis/import/recorded/launching_threads.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/import/load/imported.hpp"
#include "tests/store/shard_builder.hpp"

namespace ddpprof::import {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using trace::RecordType;
using Work = Launch::Work;

constexpr std::int64_t us = 1'000, ms = 1'000 * us, second = 1'000 * ms;
constexpr std::int64_t process = 70, main_thread = process, autograd = 75;

// Each launch takes 2 us and begins 10 us after the one before.
class Job {
 public:
  void launch(std::int64_t thread, Work work = Work::compute, int times = 1) {
    for (int i = 0; i < times; ++i, now_ns += 10 * us) launches.push_back({{now_ns, now_ns + 2 * us}, thread, work});
  }
  // Batch, forward, backward, optimizer.
  void step(bool synchronised = true, bool optimizes = true) {
    launch(main_thread, Work::upload);
    launch(main_thread, Work::compute, 8);
    backward_ns.push_back(now_ns);
    launch(autograd, Work::compute, 12);
    if (synchronised) launch(autograd, Work::collective, 2);
    backward_end_ns.push_back(now_ns - 8 * us);
    if (optimizes) launch(main_thread, Work::optimizer, 3);
    step_end_ns.push_back(now_ns - 8 * us);
  }
  LaunchedPhases phases() const { return phases_of(launches, process); }

  std::int64_t now_ns = second;
  std::vector<Launch> launches;
  std::vector<std::int64_t> backward_ns, backward_end_ns, step_end_ns;
};

TEST(LaunchingThreads, BackwardIsAutogradsAndTheOptimizerFollows) {
  Job job;
  for (int i = 0; i < 4; ++i) job.step();
  const LaunchedPhases phases = job.phases();
  ASSERT_THAT(phases.backwards, SizeIs(4));
  ASSERT_THAT(phases.optimizers, SizeIs(4));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(phases.backwards[i].start_ns, job.backward_ns[i]);
    EXPECT_EQ(phases.backwards[i].end_ns, job.backward_end_ns[i]);
    EXPECT_EQ(phases.optimizers[i].start_ns, job.backward_end_ns[i]);
    EXPECT_EQ(phases.optimizers[i].end_ns, job.step_end_ns[i]);
  }
}

TEST(LaunchingThreads, MicroBatchesEndNoStep) {
  Job job;
  for (int i = 0; i < 3; ++i) {
    job.step(false, false);
    job.step(true, true);
  }
  EXPECT_THAT(job.phases().backwards, SizeIs(6));
  EXPECT_THAT(job.phases().optimizers, SizeIs(3)) << "no_sync's backwards reduce nothing";
  Job alone;  // one rank: nothing is reduced, optimizer kernels mark the steps
  for (int i = 0; i < 3; ++i) {
    alone.step(false, false);
    alone.step(false, true);
  }
  EXPECT_THAT(alone.phases().optimizers, SizeIs(3));
}

TEST(LaunchingThreads, AnOptimizerOfPlainKernelsLastsUntilTheNextBatch) {
  Job job;
  std::vector<std::int64_t> batch_ns;
  for (int i = 0; i < 4; ++i) {
    batch_ns.push_back(job.now_ns);
    job.step(true, false);
    job.launch(main_thread, Work::compute, 5);
  }
  const LaunchedPhases phases = job.phases();
  ASSERT_THAT(phases.optimizers, SizeIs(4));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(phases.optimizers[i].end_ns, batch_ns[i + 1]);
  EXPECT_EQ(phases.optimizers[3].end_ns, phases.backwards[3].end_ns) << "its end is not recorded";
}

TEST(LaunchingThreads, OtherThreadsThatLaunchLittleAreInNobodysWay) {
  Job job;
  for (int i = 0; i < 4; ++i) {
    job.launch(90, Work::upload, 30);  // a loader that pins memory
    job.step();
    job.launch(91);
  }
  EXPECT_THAT(job.phases().backwards, SizeIs(4));
}

TEST(LaunchingThreads, TrainingMayRunOnAnotherThreadThanTheFirst) {
  Job job;
  for (int i = 0; i < 4; ++i) job.step();
  EXPECT_THAT(phases_of(job.launches, 1).backwards, SizeIs(4)) << "the thread that launches collectives is autograd's";
  Job alone;
  for (int i = 0; i < 4; ++i) alone.step(false);
  EXPECT_THAT(phases_of(alone.launches, 1).backwards, IsEmpty()) << "the threads cannot be distinguished";
}

TEST(LaunchingThreads, NothingIsMadeUp) {
  EXPECT_THAT(phases_of({}, process).backwards, IsEmpty());
  Job one_thread;
  one_thread.launch(main_thread, Work::compute, 100);
  EXPECT_THAT(one_thread.phases().backwards, IsEmpty());
  Job replicas;  // DataParallel: several threads at once
  for (int i = 0; i < 50; ++i)
    for (const std::int64_t thread : {main_thread, autograd, autograd + 1}) replicas.launch(thread);
  EXPECT_THAT(replicas.phases().backwards, IsEmpty());
  Job turns;
  for (int i = 0; i < 50; ++i) turns.launch(main_thread), turns.launch(autograd);
  EXPECT_THAT(turns.phases().backwards, IsEmpty());
  Job few;
  few.step(), few.step();
  EXPECT_THAT(few.phases().backwards, IsEmpty());
}

TEST(LaunchingThreads, OptimizersKernels) {
  for (const char* name : {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<…>",
                           "FusedAdamMathFunctor", "fused_sgd_kernel"})
    EXPECT_TRUE(is_optimizer_kernel(name)) << name;
  for (const char* name :
       {"", "ampere_sgemm_128x64_tn", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "softmax_warp_forward"})
    EXPECT_FALSE(is_optimizer_kernel(name)) << name;
}

// A GPU's training without annotations, as recorded by CUPTI and NCCL alone.
TEST(LaunchingThreads, ATrainingThatNobodyAnnotatedHasStepsAndPhases) {
  Folder folder;
  std::vector<std::filesystem::path> files;
  for (const std::int32_t rank : {0, 1}) {
    test::ShardBuilder shard;
    shard.header.rank = rank;
    shard.header.world_size = 2;
    shard.header.pid = process;
    shard.domain(3, "NCCL");
    shard.schema(3, 1U << 24, "ncclAllReduce", {{"NCCL communicator ID", 18, 0}, {"Message size [bytes]", 18, 8}});
    std::uint32_t correlation = 0;
    const auto kernel = [&](std::int64_t thread, const char* name, std::int64_t launch_ns, std::int64_t start_ns,
                            std::int64_t end_ns, std::uint32_t stream) {
      trace::KernelRecord record{};
      record.header.name_id = shard.text(name);
      record.header.time_ns = start_ns;
      record.end_ns = end_ns;
      record.stream = stream;
      record.correlation_id = ++correlation;
      for (int i = 0; i < 3; ++i) record.grid[i] = record.block[i] = 1;
      shard.add(200, RecordType::kernel, record);
      trace::ApiRecord call{};
      call.header.time_ns = launch_ns;
      call.end_ns = launch_ns + 2 * us;
      call.domain = 2;
      call.thread = static_cast<std::uint32_t>(thread);
      call.correlation_id = correlation;
      shard.add(201, RecordType::api_call, call);
    };
    for (std::int64_t step = 0; step < 12; ++step) {
      const std::int64_t t = second + 10 * ms * step;  // the device is 100 us behind the host
      for (std::int64_t i = 0; i < 4; ++i)             // forward: 2 ms
        kernel(main_thread, "gemm", t + i * 500 * us, t + 100 * us + i * 500 * us, t + 100 * us + (i + 1) * 500 * us,
               7);
      for (std::int64_t i = 0; i < 8; ++i)  // backward: 4 ms
        kernel(autograd, "gemm_grad", t + 2 * ms + i * 500 * us, t + 2'100 * us + i * 500 * us,
               t + 2'100 * us + (i + 1) * 500 * us, 7);
      // Launched in NCCL's range. Its kernel ends 1 ms after the last gradient, on both ranks at the same time.
      const std::int64_t launch_ns = t + 5'900 * us;
      trace::EventRecord push = shard.event(launch_ns - 10 * us, "ncclAllReduce", 3);
      push.payload_kind = trace::PayloadKind::extended;
      push.payload = 1U << 24;
      const std::uint64_t payload[2] = {0xabcdef, 4 << 20};
      shard.add(autograd, RecordType::push, push, test::ShardBuilder::extended(payload));
      kernel(autograd, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", launch_ns, t + 6'100 * us, t + 7'100 * us, 9);
      shard.pop(autograd, launch_ns + 10 * us, 3);
      kernel(main_thread, "multi_tensor_apply_kernel", t + 6'500 * us, t + 7'100 * us, t + 8'100 * us, 7);
    }
    files.push_back(shard.write(folder.path() / ("shard-" + std::to_string(rank) + ".ddps")));
  }
  store::Database database = store::Database::create(folder.path() / "made.db", store::Replace::yes);
  ImportOptions options;
  options.files = files;
  const Imported imported = import_into(database, options);
  ASSERT_EQ(imported.error, "");
  const auto column = [&](const std::string& sql) {
    SQLite::Statement query(database.sql(), sql);
    std::vector<std::int64_t> values;
    while (query.executeStep()) values.push_back(query.getColumn(0).getInt64());
    return values;
  };
  using testing::ElementsAre;
  EXPECT_EQ(imported.result.steps, 2 * 11) << "from one optimizer's end to the next one's";
  EXPECT_THAT(column("SELECT DISTINCT duration_ns FROM step"), ElementsAre(10 * ms));
  EXPECT_THAT(column("SELECT DISTINCT backward_ns FROM step"), ElementsAre(5 * ms)) << "its all-reduce's end included";
  EXPECT_THAT(column("SELECT DISTINCT optimizer_ns FROM step"), ElementsAre(1 * ms));
  EXPECT_THAT(column("SELECT DISTINCT communication_ns FROM step"), ElementsAre(1 * ms));
  EXPECT_THAT(column("SELECT DISTINCT bytes FROM collective"), ElementsAre(4 << 20));
  EXPECT_THAT(column("SELECT DISTINCT bucket FROM collective WHERE step_id IS NOT NULL"), ElementsAre(0));
  EXPECT_THAT(column("SELECT DISTINCT parameter_bytes FROM measurement"), ElementsAre(4 << 20));
  EXPECT_THAT(column("SELECT count(*) FROM diagnostic WHERE code = 'phases_by_threads'"), ElementsAre(2));
}

}  // namespace
}  // namespace ddpprof::import
