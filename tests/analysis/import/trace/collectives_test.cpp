// A collective's call matched with its run.
#include "analysis/import/trace/collectives/collectives.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

namespace ddpprof::import {
namespace {

CollectiveCall call_at(std::int64_t start_ns, std::int64_t bytes, std::int64_t sequence) {
  CollectiveCall call;
  call.time = {start_ns, start_ns + 2};
  call.op = CollectiveOp::all_reduce;
  call.bytes = bytes;
  call.sequence = sequence;
  return call;
}

CollectiveRun host_run_at(std::int64_t start_ns, std::int64_t bytes) {
  CollectiveRun run;
  run.time = {start_ns, start_ns + 10};
  run.op = CollectiveOp::all_reduce;
  run.bytes = bytes;
  run.on_host = true;
  return run;
}

TEST(Collectives, ABackendsRunsTakeTheFirstCallOfTheirSize) {
  RankTrace rank{SortOptions{}};
  rank.calls = {call_at(10, 400, 0), call_at(20, 800, 1), call_at(30, 400, 2), call_at(90, 400, 3)};
  rank.runs = {host_run_at(35, 800), host_run_at(40, 400), host_run_at(50, 400), host_run_at(60, 400)};
  const std::vector<Collective> found = match_calls(rank);
  ASSERT_EQ(found.size(), 4U);
  const std::int64_t launches_ns[] = {10, 20, 30, 60};  // no call began before the last one
  const std::int64_t starts_ns[] = {40, 35, 50, 60};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(found[i].launch_ns, launches_ns[i]);
    EXPECT_EQ(found[i].run->start_ns, starts_ns[i]);
    EXPECT_EQ(found[i].sequence, i);
    EXPECT_TRUE(found[i].on_host);
  }
  EXPECT_EQ(found[1].recorded_sequence, 1);
  EXPECT_EQ(found[3].recorded_sequence, std::nullopt);
}

TEST(Collectives, AnotherOperationIsNoMatchAndACallWithoutSizeIsOne) {
  RankTrace rank{SortOptions{}};
  rank.calls = {call_at(10, 400, 0), call_at(20, 0, 1)};
  rank.calls[0].op = CollectiveOp::broadcast;
  rank.calls.push_back(call_at(15, 400, 2));
  rank.calls.back().outer = false;  // nested in another call's record
  rank.runs = {host_run_at(40, 400)};
  const std::vector<Collective> found = match_calls(rank);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].launch_ns, 20);
}

// Gloo annotates an all-gather with one rank's share, and a reduce-scatter as an all-reduce of the whole tensor.
TEST(Collectives, CallsOfAllGathersAndReduceScattersHaveTheWholeTensor) {
  RankTrace rank{SortOptions{}};
  rank.calls = {call_at(10, 300, 0), call_at(20, 800, 1), call_at(30, 600, 2)};
  rank.calls[0].op = rank.calls[1].op = CollectiveOp::all_gather;
  rank.calls[2].op = CollectiveOp::reduce_scatter;
  rank.runs = {host_run_at(35, 400), host_run_at(40, 150), host_run_at(50, 600), host_run_at(60, 800)};
  rank.runs[0].op = rank.runs[1].op = CollectiveOp::all_gather;
  const std::vector<Collective> found = match_calls(rank);
  ASSERT_EQ(found.size(), 4U);
  const std::int64_t launches_ns[] = {10, 20, 30, 60}, bytes[] = {300, 800, 600, 800};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(found[i].launch_ns, launches_ns[i]);
    EXPECT_EQ(found[i].bytes, bytes[i]);
  }
  EXPECT_EQ(found[3].op, CollectiveOp::all_reduce) << "an all-reduce of no call";
}

// One pass over all calls for each run finds the run's own call.
TEST(Collectives, BackendsRunsAgreeWithLookingAtEveryCall) {
  std::mt19937 random(34);
  for (int round = 0; round < 500; ++round) {
    RankTrace rank{SortOptions{}};
    for (auto n = random() % 12; n > 0; --n)
      rank.calls.push_back(call_at(static_cast<std::int64_t>(random() % 50),
                                   4 * static_cast<std::int64_t>(random() % 3), static_cast<std::int64_t>(n)));
    std::vector<std::int64_t> starts_ns;
    for (std::int64_t t = 0; t < 60; ++t) starts_ns.push_back(t);
    std::shuffle(starts_ns.begin(), starts_ns.end(), random);
    for (auto n = random() % 12; n > 0; --n)
      rank.runs.push_back(host_run_at(starts_ns[n], 4 + 4 * static_cast<std::int64_t>(random() % 2)));
    std::vector<CollectiveCall> calls = rank.calls;
    std::stable_sort(calls.begin(), calls.end(), [](const CollectiveCall& a, const CollectiveCall& b) {
      return a.time.start_ns < b.time.start_ns;
    });
    std::vector<CollectiveRun> runs = rank.runs;
    std::sort(runs.begin(), runs.end(),
              [](const CollectiveRun& a, const CollectiveRun& b) { return a.time.start_ns < b.time.start_ns; });
    std::map<std::int64_t, std::int64_t> expected;  // launch by the run's start
    for (const CollectiveRun& run : runs) {
      const auto own = std::find_if(calls.begin(), calls.end(), [&](const CollectiveCall& call) {
        return call.time.start_ns <= run.time.start_ns && (call.bytes == run.bytes || call.bytes == 0);
      });
      expected[run.time.start_ns] = own == calls.end() ? run.time.start_ns : own->time.start_ns;
      if (own != calls.end()) calls.erase(own);
    }
    std::map<std::int64_t, std::int64_t> found;
    for (const Collective& collective : match_calls(rank)) found[collective.run->start_ns] = collective.launch_ns;
    ASSERT_EQ(found, expected);
  }
}

TEST(Collectives, ManyCallsWithoutARunCostLittle) {
  RankTrace rank{SortOptions{}};
  constexpr std::int64_t count = 200'000;
  for (std::int64_t i = 0; i < count; ++i) {
    rank.calls.push_back(call_at(10 * i, 4, i));  // their runs were not recorded
    rank.calls.push_back(call_at(10 * i + 1, 8, i));
    rank.runs.push_back(host_run_at(10 * i + 2, 8));
  }
  const std::vector<Collective> found = match_calls(rank);
  ASSERT_EQ(found.size(), static_cast<std::size_t>(count));
  for (const Collective& collective : found) ASSERT_EQ(collective.launch_ns, collective.run->start_ns - 1);
}

TEST(Collectives, ADevicesRunTakesItsCallsWordsByItsId) {
  RankTrace rank{SortOptions{}};
  rank.calls = {call_at(10, 4000, 5)};
  rank.calls[0].external_id = 42;
  rank.calls[0].group = rank.names.intern("ddp");
  CollectiveRun run;
  run.time = {100, 200};
  run.stream = 20;
  run.external_id = 42;
  rank.runs = {run};
  run.external_id = 43;
  run.time = {300, 400};
  rank.runs.push_back(run);
  const std::vector<Collective> found = match_calls(rank);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].bytes, 4000);
  EXPECT_EQ(found[0].op, CollectiveOp::all_reduce);
  EXPECT_EQ(found[0].recorded_sequence, 5);
  EXPECT_EQ(found[0].launch_ns, 100) << "until the launch is known";
  EXPECT_EQ(found[0].stream, 20);
  EXPECT_EQ(found[1].bytes, 0);
  EXPECT_EQ(found[1].op, CollectiveOp::other);
  EXPECT_NE(found[0].communicator, found[1].communicator) << "one belongs to group ddp, one to the default group";
}

TEST(Collectives, GroupsOfOneNameDifferByTheirRanks) {
  const auto communicator = [](const std::vector<std::int64_t>& ranks) {
    RankTrace rank{SortOptions{}};
    CollectiveRun run;
    run.group = rank.names.intern("1");
    if (!ranks.empty()) rank.group_ranks[run.group] = ranks;
    rank.runs = {run};
    return match_calls(rank).front().communicator;
  };
  EXPECT_EQ(communicator({0, 1}), communicator({0, 1}));
  EXPECT_NE(communicator({0, 1}), communicator({2, 3}));
  EXPECT_NE(communicator({0, 1}), communicator({}));
  EXPECT_NE(communicator({1, 2}), communicator({12}));
}

TEST(Collectives, LaunchesOnDevicesComeFromTheStoreAndOrderThem) {
  RankTrace rank{SortOptions{}};
  for (int i = 0; i < 2; ++i) {
    CollectiveRun run;
    run.time = {1000 + 100 * i, 1050 + 100 * i};
    run.stream = 20;
    run.op = CollectiveOp::all_reduce;
    run.bytes = 4 + i;
    rank.runs.push_back(run);
    Slice slice;
    slice.start_ns = run.time.start_ns;
    slice.end_ns = run.time.end_ns;
    slice.stream = 20;
    slice.work = Work::communication;
    rank.slices.add(slice, i);
    rank.slices.add_call(i, {500 - 100 * i});  // launched in reverse order
  }
  rank.slices.finish();
  std::vector<Collective> found = match_calls(rank);
  launch_collectives(rank.slices, found);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].bytes, 5);
  EXPECT_EQ(found[0].launch_ns, 400);
  EXPECT_EQ(found[0].sequence, 0U);
  EXPECT_EQ(found[1].launch_ns, 500);
  EXPECT_EQ(found[1].sequence, 1U);
}

TEST(Collectives, OperationsAndElementsByTheirNames) {
  EXPECT_EQ(collective_op("nccl:all_reduce"), CollectiveOp::all_reduce);
  EXPECT_EQ(collective_op("_allgather_base"), CollectiveOp::all_gather);
  EXPECT_EQ(collective_op("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL"), CollectiveOp::reduce_scatter);
  EXPECT_EQ(collective_op("c10d::broadcast_"), CollectiveOp::broadcast);
  EXPECT_EQ(collective_op("gloo:barrier"), CollectiveOp::barrier);
  EXPECT_EQ(collective_op("all-to-all"), CollectiveOp::all_to_all);
  EXPECT_EQ(collective_op("ncclDevKernel_SendRecv(ncclDevComm*, unsigned long, ncclWork*)"), CollectiveOp::send);
  EXPECT_EQ(collective_op("c10d::recv_"), CollectiveOp::receive);
  EXPECT_EQ(collective_op("ncclKernel_Reduce_RING_LL_Sum_float"), CollectiveOp::other);
  EXPECT_EQ(element_bytes("Float"), 4);
  EXPECT_EQ(element_bytes("c10::BFloat16"), 2);
  EXPECT_EQ(element_bytes("torch.int64"), 8);
  EXPECT_EQ(element_bytes("quint4x2"), 0);
}

}  // namespace
}  // namespace ddpprof::import
