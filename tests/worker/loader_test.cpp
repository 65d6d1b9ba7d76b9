// The data loader: order, errors and end, with work that the tests can delay.
#include "runner/worker/data/loader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <set>
#include <stdexcept>
#include <string>

#include "runner/worker/annotate.hpp"
#include "tests/worker/recording_tool.hpp"

namespace ddpprof::worker {
namespace {

constexpr std::chrono::milliseconds patience{60'000};

BatchSampler sampler() { return {{100, 1, 0, true, false, 1}, 8}; }

// Returns the indices as the batch.
Dataset::Batch indices_of(const Picks& picks) { return {{}, torch::tensor(picks.indices, torch::kLong)}; }

scenario::Workload augmented_images() {
  scenario::Workload load;
  load.model.kind = scenario::Model::Kind::mlp;
  load.model.widths = {3 * 16 * 16, 4};
  load.data.image = std::vector<std::int64_t>{3, 16, 16};
  load.data.samples = 100;
  load.data.transform = scenario::Transform::augment;
  return load;
}

class Threads : public testing::TestWithParam<int> {};

// 40 batches of 8 out of 100: over three epochs, with batches that span two.
TEST_P(Threads, BatchesAreThoseOfTheTrainingThread) {
  const auto dataset = std::make_shared<const Dataset>(augmented_images());
  const auto load = [dataset](const Picks& picks) { return dataset->batch(picks); };
  Loader alone(load, sampler(), {0, 2, patience});
  Loader ahead(load, sampler(), {GetParam(), 3, patience});
  for (int i = 0; i < 40; ++i) {
    const auto expected = alone.next(), found = ahead.next();
    ASSERT_EQ(found.picks.indices, expected.picks.indices) << i;
    ASSERT_EQ(found.picks.epoch, expected.picks.epoch) << i;
    ASSERT_TRUE(torch::equal(found.batch.inputs[0], expected.batch.inputs[0])) << i;
    ASSERT_TRUE(torch::equal(found.batch.targets, expected.batch.targets)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Loader, Threads, testing::Values(1, 2, 5));

// The first batch is delayed until the other threads have made all other batches for which there is room.
TEST(Loader, ASlowBatchIsWaitedForAndHoldsUpNoOther) {
  std::promise<void> others_are_done;
  const auto done = others_are_done.get_future().share();
  std::atomic<int> calls{0}, others{0};
  const auto first = sampler().next().indices;
  Loader loader(
      [&](const Picks& picks) {
        ++calls;
        if (picks.indices == first)
          EXPECT_EQ(done.wait_for(patience), std::future_status::ready);
        else if (++others == 7)
          others_are_done.set_value();
        return indices_of(picks);
      },
      sampler(), {2, 4, patience});
  auto expected = sampler();
  for (int i = 0; i < 8; ++i)
    EXPECT_TRUE(torch::equal(loader.next().batch.targets, torch::tensor(expected.next().indices, torch::kLong))) << i;
}

TEST(Loader, NoMoreIsPreparedThanAskedFor) {
  std::atomic<int> calls{0};
  std::promise<void> four;
  Loader loader(
      [&](const Picks& picks) {
        if (++calls == 4) four.set_value();
        return indices_of(picks);
      },
      sampler(), {2, 2, patience});
  ASSERT_EQ(four.get_future().wait_for(patience), std::future_status::ready);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // a loader without a limit would continue
  EXPECT_EQ(calls, 4);
  loader.next();
}

TEST(Loader, AnErrorComesInItsPlaceWithItsText) {
  for (const std::int64_t threads : {0, 1, 3}) {
    const auto order = [] {
      auto batches = sampler();
      batches.next();
      batches.next();
      return batches.next().indices;
    }();
    Loader loader(
        [order](const Picks& picks) {
          if (picks.indices == order) throw std::domain_error("sample 17 cannot be decoded");
          return indices_of(picks);
        },
        sampler(), {threads, 2, patience});
    loader.next();
    loader.next();
    for (int again = 0; again < (threads > 0 ? 2 : 1); ++again) {
      try {
        loader.next();
        FAIL() << "expected the error of batch 2 with " << threads << " threads";
      } catch (const std::domain_error& error) {
        EXPECT_STREQ(error.what(), "sample 17 cannot be decoded");
      }
    }
  }
}

TEST(Loader, EndsWhileItsThreadsAreBusyOrWaiting) {
  for (const std::int64_t taken : {0, 1, 5}) {
    Loader loader(
        [](const Picks& picks) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return indices_of(picks);
        },
        sampler(), {4, 2, patience});
    for (std::int64_t i = 0; i < taken; ++i) loader.next();
  }  // if this hangs, the test times out
}

TEST(Loader, ALateBatchIsATimeoutAndAHungThreadHoldsUpNobody) {
  const auto release = std::make_shared<std::promise<void>>();
  const auto released = release->get_future().share();
  try {
    Loader loader(
        [released](const Picks& picks) {
          released.wait();
          return indices_of(picks);
        },
        sampler(), {1, 2, std::chrono::milliseconds(50)});
    loader.next();
    FAIL() << "expected a timeout";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("batch 0 not ready within 50 ms (measure.timeout_s)"), std::string::npos)
        << error.what();
  }
  release->set_value();
}

TEST(Loader, EachBatchIsARangeOnItsThread) {
  annotate::initialize();
  test::take_recorded();
  constexpr int batches = 6;
  {
    Loader loader(indices_of, sampler(), {2, 3, patience});
    for (int i = 0; i < batches; ++i) loader.next();
  }
  std::set<std::int64_t> numbers;
  int open = 0;
  for (const auto& record : test::take_recorded()) {
    if (record.kind == test::Kind::push && record.name == "load_batch") {
      const auto info = record.as<vocabulary::LoadInfo>();
      numbers.insert(info.batch);
      EXPECT_EQ(info.samples, 8);
      EXPECT_TRUE(info.loader == 0 || info.loader == 1);
      ++open;
    }
    if (record.kind == test::Kind::pop) --open;
  }
  EXPECT_EQ(open, 0);
  EXPECT_GE(numbers.size(), 6u);
  EXPECT_EQ(*numbers.rbegin(), static_cast<std::int64_t>(numbers.size()) - 1);
}

// A pause that begins inside a range must not leave it open.
TEST(Annotate, ARangeThatWasBegunIsEndedThoughPaused) {
  annotate::initialize();
  test::take_recorded();
  {
    const annotate::Range range(annotate::Name::load_batch, vocabulary::LoadInfo{0, 0, 1});
    annotate::pause(true);
  }
  { const annotate::Range unseen(annotate::Name::load_batch, vocabulary::LoadInfo{1, 0, 1}); }
  annotate::pause(false);
  const auto records = test::take_recorded();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].kind, test::Kind::push);
  EXPECT_EQ(records[1].kind, test::Kind::pop);
}

}  // namespace
}  // namespace ddpprof::worker
