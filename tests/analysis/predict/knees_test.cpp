// The knee is the smallest N of all, whichever are listed, and the one that every N tried in turn would give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/predict/predict.hpp"
#include "analysis/predict/predictor.hpp"
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
  const Terms terms = change.any() ? predictor.estimate(workers, change).terms : predictor.central(workers);
  return (terms.exposed_s + terms.skew_s) / terms.step_s();
}

// In the synthetic jobs the shares grow with N, so each share is exceeded from one N on.
TEST(Knees, EqualTheResultOfTryingEveryN) {
  TemporaryDatabase database("knees");
  synthetic::add_ddp(database.get(), slow_links(4e-9), {1, 2, 4}, 1);
  const auto models = std::make_shared<const Models>(fit_models(database.get()));
  const Predictor predictor = make_predictor(models, "ddp", asked({8}));
  for (const char* said : {"", "bandwidth=4x", "accumulation=4"}) {
    const WhatIf change = *said ? parse_what_if(std::vector<std::string>{said}) : WhatIf{};
    KneeSearch search;
    search.shares = {0.05, 0.1, 0.25, 0.5, 0.6, 0.7, 0.8, 0.999};
    search.furthest = 700;
    const auto found = knees(predictor, change, search);
    ASSERT_TRUE(found);
    ASSERT_EQ(found->size(), search.shares.size());
    std::size_t beyond_every_n = 0;
    for (const Knee& knee : *found) {
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
    EXPECT_FALSE(found->back().workers) << "nothing is looked for in vain: the test compares too little";
    if (!change.any()) {
      EXPECT_GT(beyond_every_n, 0U) << "no bisection is needed: the test compares too little";
    }
  }
}

TEST(Knees, DoNotDependOnTheListOfN) {
  TemporaryDatabase database("listed");
  synthetic::add_ddp(database.get(), slow_links(4e-9), {1, 2, 4}, 1);
  const auto models = std::make_shared<const Models>(fit_models(database.get()));
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
}

// Links that never take over: the search goes as far as it may.
TEST(Knees, AreSearchedUpToTheLargestAskedN) {
  TemporaryDatabase database("further");
  Truth truth = slow_links(1e-13);
  truth.alpha_s = 1e-9;
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  const auto models = std::make_shared<const Models>(fit_models(database.get()));
  for (const auto& [listed, furthest] : {std::pair<std::int64_t, std::int64_t>{8, 4096}, {10'000, 10'000}}) {
    const Knee knee = predict_all(models, asked({2, listed})).knees.front();
    EXPECT_FALSE(knee.workers);
    EXPECT_EQ(knee.furthest, furthest);
    EXPECT_EQ(knee.passed_over, 0);
  }
}

// `furthest` is not beyond the N that exceeds the largest share.
TEST(Knees, ReportTheLargestSearchedN) {
  TemporaryDatabase database("reached");
  synthetic::add_ddp(database.get(), slow_links(4e-9), {1, 2, 4}, 1);
  const auto models = std::make_shared<const Models>(fit_models(database.get()));
  const auto found = knees(make_predictor(models, "ddp", asked({8})));
  ASSERT_TRUE(found && found->back().workers);
  for (const Knee& knee : *found) {
    EXPECT_GE(knee.furthest, *found->back().workers);
    EXPECT_LE(knee.furthest, *found->back().workers + *found->back().workers / 32);
  }
}

// Ranks that come to share cores compute longer: the share falls there, and a bisection alone would pass a knee by.
TEST(Knees, AreTheFirstIfTheShareFallsAgain) {
  TemporaryDatabase database("falls");
  Truth truth;
  truth.cores = 4;
  truth.sharing_exponent = 1.5;
  truth.switch_s = 0.0;
  truth.alpha_s = 2e-3;
  synthetic::add_ddp(database.get(), truth, {1, 2, 4, 8}, 1);
  const auto models = std::make_shared<const Models>(fit_models(database.get()));
  const Predictor predictor = make_predictor(models, "ddp", asked({8}));
  const double peak = exposed_share(predictor, 4, {});
  ASSERT_LT(exposed_share(predictor, 8, {}), 0.9 * peak) << "the share does not fall: the test compares too little";
  KneeSearch search;
  search.furthest = 64;
  search.shares = {0.5 * peak, 0.95 * peak, 1.05 * peak};
  const auto found = knees(predictor, {}, search);
  ASSERT_TRUE(found);
  for (const Knee& knee : *found) {
    std::int64_t first = 2;
    while (first <= search.furthest && !(exposed_share(predictor, first, {}) > knee.share)) ++first;
    EXPECT_EQ(knee.workers, first > search.furthest ? std::nullopt : std::optional(first)) << knee.share;
  }
  EXPECT_LE((*found)[1].workers, 4);
}

// A measured N stands apart from the modelled ones on either side of it, and between two of the search's own steps.
TEST(Knees, AreMeasuredOnesBetweenModelledOnes) {
  TemporaryDatabase database("apart");
  Truth truth = slow_links(1e-13);
  truth.alpha_s = 1e-7;
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  constexpr std::int64_t apart = 101;  // 99 and 102 are the steps beside it
  truth.alpha_s = 1e-3;
  truth.steps = 3;
  synthetic::add_ddp(database.get(), truth, {apart}, 2);
  const auto models = std::make_shared<const Models>(fit_models(database.get()));
  const Predictor predictor = make_predictor(models, "ddp", asked({8}));
  const double beside = std::max(exposed_share(predictor, apart - 1, {}), exposed_share(predictor, apart + 1, {}));
  const double there = exposed_share(predictor, apart, {});
  ASSERT_GT(there, beside) << "nothing stands apart: the test compares too little";
  KneeSearch search;
  search.shares = {0.5 * (there + beside)};
  search.furthest = 110;
  const auto found = knees(predictor, {}, search);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->front().workers, apart);
  EXPECT_TRUE(found->front().measured);
}

WhatIf servers(const char* count) {
  return parse_what_if(std::vector<std::string>{"strategy=ps", std::string("servers=") + count});
}

// Fewer workers than servers cannot be, and more transfers than are simulated only the simulation refuses.
TEST(Knees, PassOverWhatCannotBePredicted) {
  TemporaryDatabase database("refused");
  synthetic::add_ddp(database.get(), slow_links(4e-9), {1, 2, 4}, 1);
  const auto models = std::make_shared<const Models>(fit_models(database.get()));
  const Predictor predictor = make_predictor(models, "ddp", asked({8}));
  KneeSearch search;
  search.shares = {0.01, 0.9999};
  search.furthest = 12;
  const auto eight = knees(predictor, servers("8"), search);
  ASSERT_TRUE(eight);
  ASSERT_EQ(eight->size(), 2U);
  for (const Knee& knee : *eight) {
    EXPECT_EQ(knee.furthest, 12);
    EXPECT_EQ(knee.passed_over, 6);
    EXPECT_EQ(knee.first_passed_over, 2);
    EXPECT_EQ(knee.last_passed_over, 7);
  }
  EXPECT_EQ(eight->front().workers, 8) << "the first that can be";
  EXPECT_FALSE(eight->back().workers);
  search.shares = {0.9999};
  search.furthest = 150;  // 139 to 143 workers are at most 20,000 transfers
  const auto many = knees(predictor, servers("139"), search);
  ASSERT_TRUE(many);
  ASSERT_EQ(many->size(), 1U);
  EXPECT_GE(many->front().furthest, 139);
  EXPECT_LE(many->front().furthest, 143);
  EXPECT_EQ(many->front().last_passed_over, 150);
  search.furthest = 160;
  EXPECT_THAT(knees(predictor, servers("150"), search), testing::Optional(testing::IsEmpty()));
  const WhatIf rounds = parse_what_if(std::vector<std::string>{"strategy=zero2", "accumulation=50000"});
  EXPECT_THAT(knees(predictor, rounds, search), testing::Optional(testing::IsEmpty()));
}

// Another strategy's steps are simulated transfer by transfer.
TEST(Knees, OfAnotherStrategyAreSearchedUpToTheAskedOrMeasuredN) {
  TemporaryDatabase database("strategy");
  synthetic::add_ddp(database.get(), slow_links(1e-13), {1, 2, 4}, 1);
  const auto models = std::make_shared<const Models>(fit_models(database.get()));
  const Predictor predictor = make_predictor(models, "ddp", asked({8}));
  EXPECT_EQ(knees_up_to(predictor, 8, servers("2")), 8);
  EXPECT_EQ(knees_up_to(predictor, 2, servers("2")), 4);
  EXPECT_EQ(knees_up_to(predictor, 8, {}), 4096);
  EXPECT_EQ(knees_up_to(predictor, 5000, {}), 5000);
  PredictOptions options = asked({8});
  options.what_if = servers("2");
  const auto found = predict_all(models, options).knees;
  ASSERT_EQ(found.size(), 6U);
  EXPECT_LE(found.back().furthest, 8);
  EXPECT_TRUE(found.back().changed);
}

// The share need not go on growing, so that nothing is said of larger N; and the job is the same whatever is listed.
TEST(Knees, AreNotedAsTheFirst) {
  TemporaryDatabase database("noted");
  synthetic::add_ddp(database.get(), slow_links(4e-9), {1, 2, 4}, 1);
  const auto models = std::make_shared<const Models>(fit_models(database.get()));
  for (const std::int64_t listed : {1, 64}) {
    const PredictResult result = predict_all(models, asked({listed}));
    ASSERT_TRUE(result.knees.at(2).workers);
    const std::string expected = "ddp: N = " + std::to_string(*result.knees[2].workers) +
                                 " is the smallest N at which exposed communication takes more than 50 % of the step";
    std::vector<std::string> said;
    for (const Note& note : result.notes)
      if (note.code == "communication_bound") said.push_back(note.message);
    EXPECT_THAT(said, testing::ElementsAre(expected));
  }
}

TEST(Knees, StopOnRequest) {
  TemporaryDatabase database("stopped");
  synthetic::add_ddp(database.get(), slow_links(1e-12), {1, 2, 4}, 1);
  const auto models = std::make_shared<const Models>(fit_models(database.get()));
  KneeSearch search;
  int asked_often = 0;
  search.stop = [&] { return ++asked_often == 3; };
  EXPECT_FALSE(knees(make_predictor(models, "ddp", asked({8})), {}, search));
  EXPECT_EQ(asked_often, 3);
}

// One rank says nothing of all-reduces: no N from 2 on can be looked at, and none is said to be compute-bound.
TEST(Knees, AreEmptyIfNothingIsPredicted) {
  TemporaryDatabase database("one");
  synthetic::add_ddp(database.get(), slow_links(4e-9), {1}, 1);
  const auto models = std::make_shared<const Models>(fit_models(database.get()));
  const auto found = knees(make_predictor(models, "ddp", asked({1})));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->empty());
}

}  // namespace
}  // namespace ddpprof::fit
