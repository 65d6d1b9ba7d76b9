// The knee is the smallest N of all, whichever are listed, and the one that every N tried in turn would give.
#include <gtest/gtest.h>

#include "analysis/fit/predictor.hpp"
#include "tests/analysis/fit/synthetic.hpp"

namespace ddpprof::fit {
namespace {

using synthetic::TemporaryDatabase;
using synthetic::Truth;

PredictOptions asked(std::vector<std::int64_t> workers) {
  PredictOptions options;
  options.workers = std::move(workers);
  return options;
}

// Each rank on a host of its own, and links that take over slowly.
Truth slow_links(double beta_s_per_byte) {
  Truth truth;
  truth.nccl = true;
  truth.own_hosts = true;
  truth.alpha_s = 300e-6;
  truth.beta_s_per_byte = beta_s_per_byte;
  return truth;
}

double exposed_share(const Predictor& predictor, std::int64_t workers, const WhatIf& change) {
  const Terms terms = change.any() ? predictor.outlook(workers, change).terms : predictor.central(workers);
  return (terms.exposed_s + terms.skew_s) / terms.step_s();
}

// Of the synthetic jobs the shares grow with N, so that the first that exceeds is the only place where it begins to.
TEST(Knees, AreWhatTryingEveryNGives) {
  TemporaryDatabase database("knees");
  synthetic::add_ddp(database.get(), slow_links(4e-9), {1, 2, 4}, 1);
  const Models models = fit_models(database.get());
  const Predictor predictor(models, "ddp", asked({8}));
  for (const char* said : {"", "bandwidth=4x", "accumulation=4"}) {
    const WhatIf change = *said ? parse_what_if(std::vector<std::string>{said}) : WhatIf{};
    KneeSearch search;
    search.shares = {0.05, 0.1, 0.25, 0.5, 0.6, 0.7, 0.8, 0.999};
    search.furthest = 700;
    const auto knees = predictor.knees(change, search);
    ASSERT_TRUE(knees);
    ASSERT_EQ(knees->size(), search.shares.size());
    std::size_t beyond_every_n = 0;
    for (const Knee& knee : *knees) {
      std::int64_t first = 2;
      while (first <= search.furthest && !(exposed_share(predictor, first, change) > knee.share)) ++first;
      if (first > search.furthest) {
        EXPECT_FALSE(knee.workers) << said << knee.share;
        EXPECT_EQ(knee.furthest, search.furthest);
        continue;
      }
      ASSERT_TRUE(knee.workers) << said << knee.share;
      EXPECT_EQ(*knee.workers, first) << said << knee.share;
      EXPECT_EQ(knee.exposed_share, exposed_share(predictor, first, change));
      EXPECT_EQ(knee.measured, !change.any() && (first == 2 || first == 4));
      EXPECT_EQ(knee.changed, change.any());
      beyond_every_n += first > 64 ? 1 : 0;
    }
    EXPECT_FALSE(knees->back().workers) << "nothing is looked for in vain: the test compares too little";
    if (!change.any()) {
      EXPECT_GT(beyond_every_n, 0U) << "no bisection is needed: the test compares too little";
    }
  }
}

TEST(Knees, DoNotHangOnTheListOfN) {
  TemporaryDatabase database("listed");
  synthetic::add_ddp(database.get(), slow_links(4e-9), {1, 2, 4}, 1);
  const Models models = fit_models(database.get());
  PredictOptions one = asked({1});
  one.what_if = parse_what_if(std::vector<std::string>{"bandwidth=2x"});
  PredictOptions many = asked({1, 2, 3, 4, 16, 64, 100});
  many.what_if = one.what_if;
  const auto a = predict_all(models, one).knees, b = predict_all(models, many).knees;
  ASSERT_EQ(a.size(), 6U);  // three shares, without the change and with it
  ASSERT_EQ(b.size(), a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].changed, i >= 3);
    EXPECT_EQ(a[i].workers, b[i].workers);
    EXPECT_EQ(a[i].exposed_share, b[i].exposed_share);
    EXPECT_EQ(a[i].furthest, b[i].furthest);
  }
  EXPECT_TRUE(a.front().workers) << "no knee: the test compares nothing";
  // Further where somebody asks further.
  EXPECT_EQ(predict_all(models, asked({8, 10'000})).knees.front().furthest, 10'000);
}

TEST(Knees, StopWhenTold) {
  TemporaryDatabase database("stopped");
  synthetic::add_ddp(database.get(), slow_links(1e-12), {1, 2, 4}, 1);
  const Models models = fit_models(database.get());
  KneeSearch search;
  int asked_often = 0;
  search.stop = [&] { return ++asked_often == 3; };
  EXPECT_FALSE(Predictor(models, "ddp", asked({8})).knees({}, search));
  EXPECT_EQ(asked_often, 3);
}

// One rank says nothing of all-reduces: no N from 2 on can be looked at, and none is said to be compute-bound.
TEST(Knees, AreNoneWhereNothingIsPredicted) {
  TemporaryDatabase database("one");
  synthetic::add_ddp(database.get(), slow_links(4e-9), {1}, 1);
  const Models models = fit_models(database.get());
  const auto knees = Predictor(models, "ddp", asked({1})).knees();
  ASSERT_TRUE(knees);
  EXPECT_TRUE(knees->empty());
}

}  // namespace
}  // namespace ddpprof::fit
