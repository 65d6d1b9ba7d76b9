// The ranks of an MPI job, started by mpirun. All ranks run every test at the same time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "runner/worker/process_group/mpi_backend.hpp"

namespace ddpprof::worker {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using Tensors = std::vector<at::Tensor>;

int number(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : -1;
}

// MPI starts once per process, so all tests use one backend.
class Job : public testing::Environment {
 public:
  void SetUp() override {
    rank = number("OMPI_COMM_WORLD_RANK");
    size = number("OMPI_COMM_WORLD_SIZE");
    ASSERT_GE(size, 2) << "to be started by mpirun";
    backend = c10::make_intrusive<MpiBackend>(rank, size, milliseconds(60'000), milliseconds(60'000));
  }
  void TearDown() override {
    if (backend) backend->shutdown();
    backend.reset();
  }

  int rank = 0, size = 0;
  c10::intrusive_ptr<MpiBackend> backend;
};

Job& job() {
  static Job& one = *new Job;
  return one;
}

MpiBackend& backend() { return *job().backend; }
int rank() { return job().rank; }
int size() { return job().size; }

const auto types = {at::kByte, at::kChar,     at::kShort, at::kInt,   at::kLong,
                    at::kHalf, at::kBFloat16, at::kFloat, at::kDouble};

// Integers that every type can represent, and so can their sums over the ranks.
at::Tensor values(std::int64_t count, int of_rank, at::ScalarType type) {
  return (torch::arange(count, at::kLong).remainder(5) + (of_rank + 1)).to(type);
}

at::Tensor sum_of_all(std::int64_t count, at::ScalarType type) {
  at::Tensor sum = torch::zeros({count}, at::kLong);
  for (int other = 0; other < size(); ++other) sum += values(count, other, at::kLong);
  return sum.to(type);
}

c10d::AllreduceOptions with(c10d::ReduceOp::RedOpType operation) {
  c10d::AllreduceOptions options;
  options.reduceOp = operation;
  return options;
}

template <typename Function>
std::string refusal(Function&& function) {
  try {
    function();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(MpiBackend, AllReduceSumsEveryTypeOfEverySize) {
  for (const at::ScalarType type : types)
    for (const std::int64_t count : {0, 1, 2, 3, 7, 1000, 100'003}) {
      Tensors data{values(count, rank(), type)};
      const auto work = backend().allreduce(data, {});
      ASSERT_TRUE(work->wait());
      EXPECT_TRUE(torch::equal(data.front(), sum_of_all(count, type))) << at::toString(type) << " " << count;
      EXPECT_TRUE(work->isCompleted());
      EXPECT_TRUE(work->isSuccess());
    }
}

TEST(MpiBackend, AllReduceTakesTheOtherOperations) {
  for (const at::ScalarType type : types) {
    Tensors least{values(10, rank(), type)}, most{values(10, rank(), type)}, product{torch::full({4}, 2, type)};
    backend().allreduce(least, with(c10d::ReduceOp::MIN))->wait();
    backend().allreduce(most, with(c10d::ReduceOp::MAX))->wait();
    backend().allreduce(product, with(c10d::ReduceOp::PRODUCT))->wait();
    EXPECT_TRUE(torch::equal(least.front(), values(10, 0, type))) << at::toString(type);
    EXPECT_TRUE(torch::equal(most.front(), values(10, size() - 1, type))) << at::toString(type);
    EXPECT_EQ(product.front()[3].item<double>(), std::pow(2.0, size())) << at::toString(type);
  }
}

TEST(MpiBackend, BroadcastIsFromAnyRank) {
  for (int root = 0; root < size(); ++root)
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kBool, at::kLong}) {
      Tensors data{rank() == root ? values(501, root, type) : torch::zeros({501}, type)};
      c10d::BroadcastOptions options;
      options.rootRank = root;
      backend().broadcast(data, options)->wait();
      EXPECT_TRUE(torch::equal(data.front(), values(501, root, type))) << root;
    }
}

TEST(MpiBackend, AllGatherPutsRanksInOrder) {
  at::Tensor mine = values(33, rank(), at::kFloat), whole = torch::zeros({size() * 33});
  backend()._allgather_base(whole, mine, {})->wait();
  std::vector<Tensors> parts(1);
  for (int other = 0; other < size(); ++other) parts.front().push_back(torch::zeros({3, 11}));
  Tensors input{mine.view({3, 11})};
  const auto work = backend().allgather(parts, input, {});
  work->wait();
  for (int other = 0; other < size(); ++other) {
    const at::Tensor expected = values(33, other, at::kFloat);
    EXPECT_TRUE(torch::equal(whole.narrow(0, other * 33, 33), expected));
    EXPECT_TRUE(torch::equal(parts.front()[other], expected.view({3, 11})));
  }
  EXPECT_EQ(work->result().size(), static_cast<std::size_t>(size()));
}

TEST(MpiBackend, ReduceScatterGivesEachRankItsPart) {
  const std::int64_t part = 17;
  at::Tensor whole = values(size() * part, rank(), at::kDouble), mine = torch::zeros({part}, at::kDouble);
  backend()._reduce_scatter_base(mine, whole, {})->wait();
  const at::Tensor expected = sum_of_all(size() * part, at::kDouble).narrow(0, rank() * part, part);
  EXPECT_TRUE(torch::equal(mine, expected));
  Tensors outputs{torch::zeros({part}, at::kDouble)};
  std::vector<Tensors> inputs(1);
  for (int other = 0; other < size(); ++other) inputs.front().push_back(whole.narrow(0, other * part, part));
  backend().reduce_scatter(outputs, inputs, {})->wait();
  EXPECT_TRUE(torch::equal(outputs.front(), expected));
}

TEST(MpiBackend, BarrierWaitsForTheLast) {
  backend().barrier({})->wait();
  const auto begin = std::chrono::steady_clock::now();
  if (rank() == 0) std::this_thread::sleep_for(milliseconds(300));
  backend().barrier({})->wait();
  // Rank 0 leaves the first barrier together with the others, except for delays of a busy machine.
  EXPECT_GT(std::chrono::steady_clock::now() - begin, milliseconds(100));
}

TEST(MpiBackend, ManyAreInFlightAtOnceAndEachTellsWhenItIsDone) {
  std::mt19937 random(11);  // the same on every rank
  std::vector<Tensors> data;
  std::vector<c10::intrusive_ptr<c10d::Work>> works;
  std::atomic<int> told{0};
  for (int i = 0; i < 200; ++i) {
    const auto count = static_cast<std::int64_t>(random() % 60'000);
    data.push_back({values(count, rank() + i % 3, at::kFloat)});
    works.push_back(backend().allreduce(data.back(), {}));
    works.back()->getFuture()->addCallback([&told](c10::ivalue::Future& future) {
      if (!future.hasError()) ++told;
    });
  }
  for (const auto& work : works) work->getFuture()->wait();
  for (const auto& work : works) work->wait();
  for (std::size_t i = 0; i < data.size(); ++i) {
    const at::Tensor& sum = data[i].front();
    const std::int64_t count = sum.numel();
    const at::Tensor expected = sum_of_all(count, at::kFloat) + static_cast<float>(size() * static_cast<int>(i % 3));
    ASSERT_TRUE(torch::equal(sum, expected)) << i;
  }
  while (told < 200) std::this_thread::yield();  // ctest's timeout limits this wait
}

TEST(MpiBackend, TheFutureHoldsTheTensors) {
  Tensors data{torch::ones({8})};
  const auto future = backend().allreduce(data, {})->getFuture();
  future->wait();
  EXPECT_TRUE(future->value().toTensorList().get(0).is_same(data.front()));
}

TEST(MpiBackend, WhatItCannotMoveIsRefusedByName) {
  Tensors two{torch::ones({1}), torch::ones({1})}, turned{torch::ones({4, 5}).t()};
  Tensors complex{torch::zeros({2}, at::kComplexFloat)}, sound{torch::ones({2})};
  EXPECT_THAT(refusal([&] { backend().allreduce(two, {}); }), HasSubstr("2 tensors at once"));
  EXPECT_THAT(refusal([&] { backend().allreduce(turned, {}); }), HasSubstr("not dense and contiguous"));
  EXPECT_THAT(refusal([&] { backend().allreduce(complex, {}); }), HasSubstr("ComplexFloat"));
  EXPECT_THAT(refusal([&] { backend().allreduce(sound, with(c10d::ReduceOp::AVG)); }), HasSubstr("expected sum"));
  at::Tensor whole = torch::ones({size() * 3}), part = torch::ones({4}), other = torch::ones({3}, at::kDouble);
  EXPECT_THAT(refusal([&] { backend()._allgather_base(whole, part, {}); }), HasSubstr("elements on"));
  EXPECT_THAT(refusal([&] { backend()._reduce_scatter_base(other, whole, {}); }), HasSubstr("Double"));
  c10d::BroadcastOptions options;
  options.rootRank = size();
  EXPECT_THAT(refusal([&] { backend().broadcast(sound, options); }), HasSubstr("from rank"));
  // None of these calls started: the ranks still agree on the next call.
  backend().allreduce(sound, {})->wait();
  EXPECT_EQ(sound.front()[0].item<float>(), static_cast<float>(size()));
}

TEST(MpiBackend, IsOneAProcess) {
  try {
    const auto second = c10::make_intrusive<MpiBackend>(rank(), size(), milliseconds(5000), milliseconds(5000));
    FAIL() << "a second one began";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("in its MPI job already"));
  }
}

// After this test the ranks have left the MPI job. So it runs separately (--gtest_filter=MpiTimeout.*); then the
// process ends without MPI_Finalize, like a failed rank.
TEST(MpiTimeout, AnAllReduceThatOneRankDoesNotAskForFailsAndSaysSo) {
  const auto begin = std::chrono::steady_clock::now();
  const auto impatient = c10::make_intrusive<MpiBackend>(rank(), size(), milliseconds(2000), milliseconds(60'000));
  if (rank() == 0) {
    std::this_thread::sleep_for(milliseconds(8000));
  } else {
    Tensors data{torch::ones({1024})}, later{torch::ones({4})};
    const auto work = impatient->allreduce(data, {});
    std::string said;
    try {
      work->wait();
    } catch (const std::runtime_error& error) {
      said = error.what();
    }
    EXPECT_THAT(said, testing::AllOf(HasSubstr("all-reduce of 4096 bytes"), HasSubstr("within 2"), HasSubstr("s:")));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(60'000));
    EXPECT_TRUE(work->getFuture()->hasError());
    // Later calls do not wait either.
    EXPECT_ANY_THROW(impatient->allreduce(later, {})->wait());
    std::fprintf(stderr, "rank %d: %s\n", rank(), HasFailure() ? "FAILED" : "saw the timeout");
    std::fflush(nullptr);
    std::this_thread::sleep_for(milliseconds(8000));  // mpirun ends all ranks when the first one leaves in this way
  }
  _exit(HasFailure() ? 1 : 0);
}

// In a separate run, too (--gtest_filter=MpiLeaving.*): rank 0 abandons its job without waiting. For the other ranks it
// is a rank that does not leave.
TEST(MpiLeaving, ARankThatDoesNotLeaveIsAFailureOfTheOthers) {
  const milliseconds timeout(rank() == 0 ? 120'000 : 2000);
  auto backend = c10::make_intrusive<MpiBackend>(rank(), size(), timeout, milliseconds(60'000));
  const auto begin = std::chrono::steady_clock::now();
  if (rank() == 0) {
    backend.reset();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(8000));  // the others stay for 10 s
    std::fprintf(stderr, "rank 0: %s\n", HasFailure() ? "FAILED" : "did not wait");
    std::fflush(nullptr);
    std::this_thread::sleep_for(milliseconds(8000));
  } else {
    std::string said;
    try {
      backend->shutdown();
    } catch (const std::runtime_error& error) {
      said = error.what();
    }
    EXPECT_THAT(said, HasSubstr("mpi: the ranks did not leave their MPI job together within 2 s"));
    std::fprintf(stderr, "rank %d: %s\n", rank(), HasFailure() ? "FAILED" : "saw that not all had left");
    std::fflush(nullptr);
    std::this_thread::sleep_for(milliseconds(8000));
  }
  _exit(HasFailure() ? 1 : 0);
}

}  // namespace
}  // namespace ddpprof::worker

int main(int argc, char** argv) {
  using namespace ddpprof::worker;
  testing::InitGoogleTest(&argc, argv);
  const std::string filter = GTEST_FLAG_GET(filter);
  const bool own_backend = filter.find("MpiTimeout") == 0 || filter.find("MpiLeaving") == 0;
  if (own_backend) {
    job().rank = number("OMPI_COMM_WORLD_RANK");
    job().size = number("OMPI_COMM_WORLD_SIZE");
  } else {
    testing::AddGlobalTestEnvironment(&job());
  }
  return RUN_ALL_TESTS();
}
