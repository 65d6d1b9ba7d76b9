// Slices and the calls that launched them; impossible durations, and slices that only overlap.
#include "analysis/import/trace/slice_store.hpp"
#include "analysis/import/trace/collectives/kernel_families.hpp"

#include <gmock/gmock.h>

#include <random>

namespace ddpprof::import {
namespace {

Slice slice_at(std::int64_t start_ns, std::int64_t duration_ns, std::uint32_t name = 1, std::int32_t stream = 7) {
  Slice slice;
  slice.start_ns = start_ns;
  slice.end_ns = start_ns + duration_ns;
  slice.name = name;
  slice.stream = stream;
  return slice;
}

std::vector<Slice> all_of(const SliceStore& store) {
  std::vector<Slice> slices;
  store.for_each([&](const Slice& slice) { slices.push_back(slice); });
  return slices;
}

TEST(SliceStore, FindsTheCallThatLaunchedASlice) {
  for (const std::size_t bound_bytes : {std::size_t{1} << 20, std::size_t{600}}) {
    SliceStore store(SortOptions{bound_bytes, {}});
    std::mt19937 random(33);
    std::vector<std::int64_t> order(500);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    std::shuffle(order.begin(), order.end(), random);
    for (const std::int64_t i : order) store.add(slice_at(100'000 + 100 * i, 50), i);
    store.add(slice_at(90'000, 50), std::nullopt);
    store.add(slice_at(95'000, 50), 7777);  // no such call
    std::shuffle(order.begin(), order.end(), random);
    for (const std::int64_t i : order) store.add_call(i, {10 * i});
    store.add_call(9999, {5});  // launched nothing
    store.add_call(3, {400});   // a duplicate correlation: the first counts
    store.finish();
    EXPECT_EQ(store.size(), 502);
    EXPECT_EQ(store.without_call(), 2);
    EXPECT_EQ(store.overlapping(), 0);
    const std::vector<Slice> slices = all_of(store);
    ASSERT_EQ(slices.size(), 502U);
    EXPECT_EQ(slices[0].launch_ns, 90'000) << "its own start, because the call is unknown";
    EXPECT_EQ(slices[1].launch_ns, 95'000);
    for (std::size_t i = 0; i < 500; ++i) {
      EXPECT_EQ(slices[i + 2].start_ns, 100'000 + 100 * static_cast<std::int64_t>(i));
      EXPECT_EQ(slices[i + 2].launch_ns, 10 * static_cast<std::int64_t>(i));
    }
  }
}

TEST(SliceStore, OneCallLaunchesManySlices) {
  SliceStore store(SortOptions{});
  for (int i = 0; i < 5; ++i) store.add(slice_at(1000 + 10 * i, 10), 4);  // a graph
  store.add_call(4, {17});
  store.finish();
  for (const Slice& slice : all_of(store)) EXPECT_EQ(slice.launch_ns, 17);
  EXPECT_EQ(store.without_call(), 0);
}

// Ten slices of 1024 ns each, 2000 ns apart; the one at `place` lasts `duration_ns`.
SliceStore stream_with(int place, std::int64_t duration_ns, std::optional<std::int64_t> host_end_ns) {
  SliceStore store(SortOptions{});
  for (int i = 0; i < 10; ++i) store.add(slice_at(2000 * i, i == place ? duration_ns : 1024), i);
  if (host_end_ns) store.set_host_end(*host_end_ns);
  store.finish();
  return store;
}

std::int64_t total_ns(const SliceStore& store) {
  std::int64_t sum = 0;
  store.for_each([&](const Slice& slice) { sum += slice.end_ns - slice.start_ns; });
  std::int64_t by_name = 0, count = 0;
  for (const auto& [key, totals] : store.totals()) {
    by_name += totals.total_ns;
    count += totals.count;
  }
  EXPECT_EQ(by_name, sum);
  EXPECT_EQ(count, store.size());
  return sum;
}

TEST(SliceStore, AnAbsurdDurationInTheMiddleIsCut) {
  const SliceStore store = stream_with(4, 900'000'000, 20'000);
  EXPECT_EQ(store.absurd().count, 1);
  EXPECT_EQ(store.absurd().first_start_ns, 8000);
  EXPECT_EQ(store.absurd().first_duration_ns, 900'000'000);
  EXPECT_EQ(store.absurd().first_name, 1U);
  EXPECT_EQ(store.overlapping(), 0);
  // The usual duration, to within the factor of sqrt(2) between the histogram's classes.
  const std::int64_t kept_ns = total_ns(store) - 9 * 1024;
  EXPECT_GE(kept_ns, 1024 * 10 / 15);
  EXPECT_LE(kept_ns, 1024 * 15 / 10);
  EXPECT_EQ(store.absurd().cut_ns, 900'000'000 - kept_ns);
}

TEST(SliceStore, AnAbsurdDurationAtTheEndIsCutByTheHostsEnd) {
  const SliceStore store = stream_with(9, 900'000'000, 30'000);
  EXPECT_EQ(store.absurd().count, 1);
  EXPECT_LE(total_ns(store), 10 * 1536);
}

TEST(SliceStore, NoSliceIsKeptBeyondTheNextOne) {
  SliceStore store(SortOptions{});
  for (int i = 0; i < 20; ++i) store.add(slice_at(10 * i, i == 5 ? 1'000'000 : i < 10 ? 10 : 9), i);
  store.finish();
  EXPECT_EQ(store.absurd().count, 1);
  for (const Slice& slice : all_of(store)) EXPECT_LE(slice.end_ns, slice.start_ns + 10);
}

TEST(SliceStore, LongButPossibleStays) {
  // It ends when the next one begins, or while the host still waits.
  EXPECT_EQ(stream_with(9, 900'000'000, 900'018'000).absurd().count, 0);
  SliceStore store(SortOptions{});
  for (int i = 0; i < 9; ++i) store.add(slice_at(10'000'000 + 2000 * i, 1024), i);
  store.add(slice_at(0, 10'000'000), 9);
  store.set_host_end(20'000'000);
  store.finish();
  EXPECT_EQ(store.absurd().count, 0);
  EXPECT_EQ(store.overlapping(), 0);
  EXPECT_EQ(total_ns(store), 9 * 1024 + 10'000'000);
}

TEST(SliceStore, OverlappingIsCountedOnly) {
  const SliceStore store = stream_with(4, 90'000, std::nullopt);  // 88 times the usual duration
  EXPECT_EQ(store.absurd().count, 0);
  EXPECT_EQ(store.overlapping(), 1);
  EXPECT_EQ(total_ns(store), 9 * 1024 + 90'000);
}

TEST(SliceStore, StreamsAndDevicesDoNotMeet) {
  SliceStore store(SortOptions{});
  for (int i = 0; i < 20; ++i) {
    store.add(slice_at(100 * i, 100, 1, 7), i);
    Slice other = slice_at(100 * i + 10, 100, 1, 7);
    other.device = 1;
    store.add(other, i);
    store.add(slice_at(100 * i + 20, 100, 1, 20), i);
  }
  store.finish();
  EXPECT_EQ(store.overlapping(), 0);
}

TEST(SliceStore, SeldomNamesAreJudgedByAll) {
  SliceStore store(SortOptions{});
  for (int i = 0; i < 50; ++i) store.add(slice_at(2000 * i, 1024, 1), i);
  store.add(slice_at(50 * 2000, 500'000'000, 2), 50);
  store.add(slice_at(51 * 2000, 1024, 1), 51);
  store.finish();
  EXPECT_EQ(store.absurd().count, 1);
  EXPECT_EQ(store.absurd().first_name, 2U);
  EXPECT_LE(total_ns(store), 52 * 1536);
}

TEST(SliceStore, TotalsOfANameByKind) {
  SliceStore store(SortOptions{});
  store.add(slice_at(0, 5), 1);
  store.add(slice_at(10, 9), 2);
  Slice copy = slice_at(20, 7);
  copy.work = Work::copy;
  store.add(copy, 3);
  store.finish();
  const NameTotals& compute = store.totals().at({1, Work::compute});
  EXPECT_EQ(compute.count, 2);
  EXPECT_EQ(compute.total_ns, 14);
  EXPECT_EQ(compute.minimum_ns, 5);
  EXPECT_EQ(compute.maximum_ns, 9);
  EXPECT_EQ(store.totals().at({1, Work::copy}).total_ns, 7);
}

TEST(Slice, CollectiveKernelsByTheirNames) {
  for (const char* name :
       {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclAllReduceRingLLKernel_sum_f32(ncclColl)", "ncclFunction_Broadcast", "void rccl::kernel<1>",
        "mscclKernel_Sum_float_LL",
        "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<...>(...)",
        "void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<__half>>(...)"})
    EXPECT_TRUE(is_collective_kernel(name)) << name;
  for (const char* name : {"gemm", "void at::native::vectorized_elementwise_kernel<4>", "Memcpy DtoD", "",
                           "void warpAllReduce<float>(float*)", "void layer_norm<BlockAllReduce<float>>(float*)",
                           "void softmax_block_all_reduce(float*)", "void small_reduce_kernel<float>(float*)",
                           "void ball_gather(int*)"})
    EXPECT_FALSE(is_collective_kernel(name)) << name;
}

}  // namespace
}  // namespace ddpprof::import
