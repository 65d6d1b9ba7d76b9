#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>

#include "runner/worker/annotate.hpp"
#include "runner/worker/data_parallel/data_parallel.hpp"
#include "tests/worker/recording_tool.hpp"

namespace ddpprof::worker {
namespace {

using scenario::LossKind;
using Kind = scenario::Model::Kind;
constexpr std::chrono::milliseconds patience{60'000};

scenario::Model mlp(std::vector<std::int64_t> widths) {
  scenario::Model model;
  model.kind = Kind::mlp;
  model.widths = std::move(widths);
  return model;
}

double relative_difference(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a - b).norm() / b.norm()).item<double>();
}

class DataParallel : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    annotate::initialize();
    test::take_recorded();
  }
};

// Same weights, same batch: the mean loss over the whole batch has the same gradient for every split of the batch.
TEST_P(DataParallel, GradientsEqualOneProcessOnTheWholeBatch) {
  const auto root = make_network(mlp({64, 32, 10}), 1);
  const auto alone = clone_network(*root);
  const Dataset::Batch batch{{torch::randn({48, 64})}, torch::randint(10, {48}, torch::kLong)};
  CpuDataParallel parallel(root, LossKind::cross_entropy, GetParam(), 1, patience);
  for (int micro = 0; micro < 2; ++micro) {  // the second adds to the first
    const auto loss = parallel.pass(batch, true, 2.0);
    const auto expected = loss_of(LossKind::cross_entropy, alone->forward(batch.inputs), batch.targets) / 2.0;
    expected.backward();
    EXPECT_NEAR(loss.item<double>(), expected.item<double>(), 1e-6);
  }
  const auto got = root->parameters(), expected = alone->parameters();
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_LT(relative_difference(got[i].grad(), expected[i].grad()), 1e-6) << "parameter " << i;
}

TEST_P(DataParallel, EveryCopyIsATimedRangeWithItsBytes) {
  const auto root = make_network(mlp({64, 32, 10}), 1);
  CpuDataParallel parallel(root, LossKind::cross_entropy, GetParam(), 1, patience);
  test::take_recorded();
  parallel.pass({{torch::randn({24, 64})}, torch::randint(10, {24}, torch::kLong)}, true, 1.0);
  const std::int64_t model_bytes = (64 * 32 + 32 + 32 * 10 + 10) * 4;
  std::vector<std::pair<std::string, std::int64_t>> copies;
  int forwards = 0, backwards = 0;
  for (const auto& record : test::take_recorded()) {
    if (record.kind != test::Kind::push) continue;
    if (record.name == "replica_forward") ++forwards;
    if (record.name == "replica_backward") ++backwards;
    if (record.name == "replicate" || record.name == "scatter" || record.name == "gather" || record.name == "reduce")
      copies.emplace_back(record.name, record.as<vocabulary::CopyInfo>().bytes);
  }
  const std::vector<std::pair<std::string, std::int64_t>> expected{{"replicate", model_bytes * GetParam()},
                                                                   {"scatter", 24 * 64 * 4},
                                                                   {"gather", 24 * 10 * 4},
                                                                   {"scatter", 24 * 10 * 4},
                                                                   {"reduce", model_bytes * GetParam()}};
  EXPECT_EQ(copies, expected);
  EXPECT_EQ(forwards, GetParam());
  EXPECT_EQ(backwards, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Replicas, DataParallel, testing::Values(1, 2, 4));

// The range of a replica, from push to pop on its thread.
struct Lane {
  std::int64_t begin, end, thread;
};

std::vector<Lane> lanes_of(const std::vector<test::Recorded>& records, const std::string& name) {
  std::vector<Lane> lanes;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].kind != test::Kind::push || records[i].name != name) continue;
    const auto end = std::find_if(
        records.begin() + static_cast<std::ptrdiff_t>(i), records.end(),
        [&](const auto& other) { return other.kind == test::Kind::pop && other.thread == records[i].thread; });
    if (end != records.end()) lanes.push_back({records[i].time_ns, end->time_ns, records[i].thread});
  }
  return lanes;
}

TEST(DataParallelLanes, ReplicasRunAtTheSameTimeOnTheirOwnThreads) {
  annotate::initialize();
  const auto root = make_network(mlp({1024, 1024, 10}), 1);
  CpuDataParallel parallel(root, LossKind::cross_entropy, 2, 1, patience);
  // Serial lanes never overlap. On a busy machine parallel lanes may not overlap in one step, but they do in some step.
  for (const std::string name : {"replica_forward", "replica_backward"}) {
    bool overlapped = false;
    for (int step = 0; step < 100 && !overlapped; ++step) {
      test::take_recorded();
      parallel.pass({{torch::randn({256, 1024})}, torch::randint(10, {256}, torch::kLong)}, true, 1.0);
      const auto lanes = lanes_of(test::take_recorded(), name);
      ASSERT_EQ(lanes.size(), 2u);
      EXPECT_NE(lanes[0].thread, lanes[1].thread);
      overlapped = lanes[0].begin < lanes[1].end && lanes[1].begin < lanes[0].end;
    }
    EXPECT_TRUE(overlapped) << name;
  }
}

TEST(DataParallelBuffers, ReplicaZerosStatisticsGoBackToTheRoot) {
  scenario::Model model;
  model.kind = Kind::resnet18;
  model.image_size = 32;
  model.classes = 10;
  const auto root = make_network(model, 1);
  const auto alone = clone_network(*root);
  CpuDataParallel parallel(root, LossKind::cross_entropy, 2, 1, patience);
  const auto inputs = torch::randn({8, 3, 32, 32});
  parallel.pass({{inputs}, torch::randint(10, {8}, torch::kLong)}, true, 1.0);
  alone->forward({inputs.slice(0, 0, 4)});  // the inputs of replica 0
  const auto got = root->named_buffers(), expected = alone->named_buffers();
  for (const auto& item : expected)
    EXPECT_TRUE(torch::allclose(got[item.key()].to(torch::kFloat), item.value().to(torch::kFloat), 1e-5, 1e-6))
        << item.key();
}

TEST(ReplicaThreads, ReportsAnErrorAndGoesOn) {
  ReplicaThreads threads(3, 1, patience);
  EXPECT_THROW(threads.run([](int replica) {
    if (replica == 1) throw std::logic_error("replica 1");
  }),
               std::logic_error);
  std::atomic<int> ran{0};
  threads.run([&](int) { ++ran; });
  EXPECT_EQ(ran, 3);
}

TEST(ReplicaThreads, AHungReplicaIsNamed) {
  const auto release = std::make_shared<std::promise<void>>();
  const auto released = release->get_future().share();
  try {
    ReplicaThreads threads(2, 1, std::chrono::milliseconds(50));
    threads.run([released](int replica) {
      if (replica == 1) released.wait();
    });
    FAIL() << "expected a timeout";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("replica 1 not done within 50 ms"), std::string::npos) << error.what();
  }
  release->set_value();
}

}  // namespace
}  // namespace ddpprof::worker
