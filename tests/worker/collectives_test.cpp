// Two ranks in one process, each with its own Gloo group over loopback.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <thread>
#include <utility>

#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "runner/worker/annotate.hpp"
#include "runner/worker/process_group/process_group.hpp"
#include "tests/worker/recording_tool.hpp"

namespace ddpprof::worker {
namespace {

using vocabulary::CollectiveInfo;

struct Collective {
  CollectiveInfo info;
  std::int64_t launch = 0, begin = 0, end = 0, begin_thread = 0, end_thread = 0;
};

template <typename Body>
void on_two_ranks(int gloo_threads, Body body) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank)
    ranks.emplace_back([=] {
      GroupOptions options;
      options.gloo_threads = gloo_threads;
      auto gloo = make_gloo_backend(store, rank, 2, "127.0.0.1", options);
      // Different names, so that the trace shows which rank an event belongs to. In a run the names are equal.
      auto backend = c10::make_intrusive<TracedBackend>(std::move(gloo), "rank" + std::to_string(rank), true);
      body(rank, *backend);
    });
  for (auto& rank : ranks) rank.join();
}

// Rank 0's collectives in sequence.
std::vector<Collective> collectives_of_rank_0() {
  std::map<std::uint64_t, Collective> by_sequence;
  std::map<std::uint64_t, std::uint64_t> open;
  for (const auto& record : test::take_recorded()) {
    const auto info = record.as<CollectiveInfo>();
    const bool mine = info.communicator == hash_text("rank0");
    if (record.kind == test::Kind::mark && record.name == "collective_launch" && mine) {
      by_sequence[info.sequence].info = info;
      by_sequence[info.sequence].launch = record.time_ns;
    } else if (record.kind == test::Kind::start && mine) {
      open[record.range] = info.sequence;
      by_sequence[info.sequence].begin = record.time_ns;
      by_sequence[info.sequence].begin_thread = record.thread;
    } else if (record.kind == test::Kind::end && open.count(record.range)) {
      by_sequence[open[record.range]].end = record.time_ns;
      by_sequence[open[record.range]].end_thread = record.thread;
    }
  }
  std::vector<Collective> result;
  for (auto& [sequence, collective] : by_sequence) result.push_back(collective);
  return result;
}

std::vector<Collective> two_large_all_reduces(int gloo_threads) {
  annotate::initialize();
  test::take_recorded();
  on_two_ranks(gloo_threads, [](int, TracedBackend& backend) {
    std::vector<at::Tensor> a{torch::ones({8 << 20})}, b{torch::ones({8 << 20})};  // 32 MiB each: ~10 ms and more
    const auto first = backend.allreduce(a, {}), second = backend.allreduce(b, {});
    first->wait();
    second->wait();
    EXPECT_EQ(a.front()[0].item<float>(), 2.0F);
    EXPECT_EQ(b.front()[-1].item<float>(), 2.0F);
  });
  return collectives_of_rank_0();
}

// With one worker thread the second all-reduce is launched at once, but starts when the first is done. This test fails
// if the start is taken at the launch.
TEST(Collectives, StartIsTheWorkerThreadsOwn) {
  const auto seen = two_large_all_reduces(1);
  ASSERT_EQ(seen.size(), 2u);
  for (const auto& collective : seen) {
    EXPECT_EQ(collective.begin_thread, collective.end_thread);
    EXPECT_LE(collective.launch, collective.begin);
    EXPECT_LT(collective.begin, collective.end);
    EXPECT_EQ(collective.info.bytes, 32 << 20);
    EXPECT_EQ(collective.info.bucket, -1);
  }
  EXPECT_EQ(seen[0].begin_thread, seen[1].begin_thread);
  EXPECT_LT(seen[1].launch, seen[0].end);
  EXPECT_GE(seen[1].begin, seen[0].end);
}

TEST(Collectives, TwoWorkerThreadsOverlap) {
  bool overlapped = false;
  for (int attempt = 0; attempt < 20 && !overlapped; ++attempt) {
    const auto seen = two_large_all_reduces(2);
    ASSERT_EQ(seen.size(), 2u);
    overlapped = seen[1].begin < seen[0].end && seen[0].begin < seen[1].end;
    if (overlapped) {
      EXPECT_NE(seen[0].begin_thread, seen[1].begin_thread);
    }
  }
  EXPECT_TRUE(overlapped);
}

TEST(Collectives, BucketsAreNumberedWithinABackward) {
  annotate::initialize();
  test::take_recorded();
  on_two_ranks(2, [](int, TracedBackend& backend) {
    const auto all_reduce = [&](std::int64_t count) {
      std::vector<at::Tensor> data{torch::ones({count})};
      backend.allreduce(data, {})->wait();
    };
    for (int step = 0; step < 2; ++step) {
      backend.begin_gradient_buckets();
      all_reduce(4);
      all_reduce(8);
      EXPECT_GT(backend.first_bucket_launch_ns(), 0);
      backend.end_gradient_buckets();
    }
    all_reduce(2);
    std::vector<at::Tensor> data{torch::ones({1})};
    backend.broadcast(data, {})->wait();
    backend.barrier({})->wait();
  });
  std::vector<std::int32_t> buckets, ops;
  std::vector<std::uint64_t> sequence;
  for (const auto& collective : collectives_of_rank_0()) {
    buckets.push_back(collective.info.bucket);
    ops.push_back(collective.info.op);
    sequence.push_back(collective.info.sequence);
    EXPECT_GT(collective.end, 0) << "sequence " << collective.info.sequence;
  }
  EXPECT_EQ(buckets, (std::vector<std::int32_t>{0, 1, 0, 1, -1, -1, -1}));
  EXPECT_EQ(ops, (std::vector<std::int32_t>{0, 0, 0, 0, 0, 1, 4}));
  EXPECT_EQ(sequence, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6}));
}

// In the place of NCCL: calls a function when it is shut down.
class ShutDownBackend final : public c10d::Backend {
 public:
  ShutDownBackend(int rank, std::function<void()> on_shutdown)
      : Backend(rank, 2), on_shutdown_(std::move(on_shutdown)) {}
  const std::string getBackendName() const override { return "fake"; }
  void shutdown() override { on_shutdown_(); }

 private:
  std::function<void()> on_shutdown_;
};

c10::intrusive_ptr<c10d::ProcessGroup> control_group(const c10::intrusive_ptr<c10d::Store>& store, int rank) {
  const auto kind = c10d::ProcessGroup::BackendType::CUSTOM;
  const auto prefixed = c10::make_intrusive<c10d::PrefixStore>("control", store);
  auto group = c10::make_intrusive<c10d::ProcessGroup>(prefixed, rank, 2);
  group->setBackend(c10::DeviceType::CPU, kind, make_gloo_backend(prefixed, rank, 2, "127.0.0.1", {}));
  group->setDefaultBackend(kind);
  group->setGroupName("control");
  return group;
}

TEST(Collectives, CommunicatorsEndWhenEveryRankHasFinished) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::atomic<int> finished{0}, ended{0};
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank)
    ranks.emplace_back([&, rank] {
      Group group;
      group.control = control_group(store, rank);
      auto ends = c10::make_intrusive<ShutDownBackend>(rank, [&] {
        EXPECT_EQ(finished, 2);
        ++ended;
      });
      group.backend = c10::make_intrusive<TracedBackend>(std::move(ends), "fake", false);
      if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(200));
      ++finished;
      end_communicators(group, std::chrono::seconds(60));
      group.control->barrier()->wait();  // remains usable
      EXPECT_EQ(ended, 2);
    });
  for (std::thread& rank : ranks) rank.join();
}

}  // namespace
}  // namespace ddpprof::worker
