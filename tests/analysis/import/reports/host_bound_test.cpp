// A trace of a host-bound training from import to answer: the device of this A100 is idle for 77 % of a step
// (gpu_idle_us / span_us in expected_kineto.csv, by Holistic Trace Analysis' rule).
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "analysis/import/load/import.hpp"
#include "analysis/predict/predict.hpp"
#include "analysis/report/report.hpp"
#include "tests/store/shard_builder.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::report {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class HostBound : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("DDPPROF_DATA_DIR");
    const fs::path file = fs::path(folder ? folder : "") / "traces" / "a100_ddp_rank0of2.json.gz";
    if (!folder || !fs::exists(file)) GTEST_SKIP() << "DDPPROF_DATA_DIR holds no traces";
    import::ImportOptions options;
    options.files = {file};
    import::import_traces(database_, options);
    database_.finish_load();
    fit::PredictOptions asked;
    asked.workers = {1, 2, 3, 64};
    results_ = fit::fit_and_predict(database_, asked, {});
    for (const fit::Prediction& row : results_.predicted.predictions) rows_[row.world_size] = row;
  }

  test::TemporaryFolder folder_;
  store::Database database_ = store::Database::create(folder_ / "a.db");
  fit::Results results_;
  std::map<std::int64_t, fit::Prediction> rows_;
};

// Issue: "Where it goes" drew 200, 38 and 200 ms of compute at N = 1, 2 and 3, of which only N = 2 is measured.
TEST_F(HostBound, ComputeIsTheKernelsAtEveryN) {
  const double measured_s = rows_.at(2).compute_s;
  EXPECT_NEAR(measured_s, 38.5e-3, 0.3e-3);  // compute_us of the three steps in expected_kineto.csv
  for (const auto& [workers, row] : rows_) {
    EXPECT_NEAR(row.compute_s / measured_s, 1.0, 0.06) << workers;
    EXPECT_NEAR(row.compute_s + row.exposed_s + row.skew_s + row.host_s + row.other_s, row.step_s, 1e-9) << workers;
    EXPECT_LT(row.other_s, 0.02 * row.step_s) << workers;
  }
  EXPECT_NEAR(rows_.at(2).host_s / rows_.at(2).step_s, 0.77, 0.015);
  EXPECT_NEAR(rows_.at(3).host_s / rows_.at(3).step_s, 0.77, 0.04);
  EXPECT_NEAR(rows_.at(1).host_s / rows_.at(1).step_s, 0.82, 0.03) << "no all-reduce fills its gaps";
}

TEST_F(HostBound, TheAnswerNamesTheHost) {
  for (const auto& [workers, row] : rows_) EXPECT_EQ(row.bound, "host") << workers;
  const Report report = build_report(database_, "summary");
  const Table& answer = report.tables.at(0);
  ASSERT_EQ(answer.name, "answer");
  std::string text;
  for (const Row& row : answer.rows) text += std::get<std::string>(row.at(1)) + "\n";
  EXPECT_THAT(text, testing::ContainsRegex("Of the step .means.: .*7[0-9.]+ % waiting for the host's launches"));
  EXPECT_THAT(text, HasSubstr("CUDA graphs, torch.compile, or a larger batch per worker"));
  EXPECT_THAT(text, HasSubstr("At N = 2 host (the device waits for the host's launches)"));
}

// The interval reaches down to the step without additional communication; the note states when that end is right.
TEST_F(HostBound, ANoteStatesWhatIsAssumedBeyondTheMeasuredN) {
  const auto advice = [](const fit::PredictResult& predicted) {
    for (const fit::Note& note : predicted.notes)
      if (note.code == "host_bound") return note.advice;
    return std::string();
  };
  EXPECT_THAT(advice(results_.predicted), HasSubstr("the lower end of the interval is the better estimate"));
  fit::PredictOptions measured;
  measured.workers = {2};
  EXPECT_THAT(advice(fit::predict_all(database_, measured)), testing::Not(HasSubstr("the lower end")));
}

TEST_F(HostBound, WhatIfTurnsTheHost) {
  const auto speedup = [&](const std::string& change) {
    fit::PredictOptions asked;
    asked.workers = {2};
    asked.what_if = fit::parse_what_if(std::vector{change});
    return fit::predict_all(database_, asked).what_ifs.at(0).speedup;
  };
  EXPECT_GT(speedup("host=2x"), 1.6);
  EXPECT_LT(speedup("host=2x"), 2.0);
  EXPECT_LT(speedup("compute=2x"), 1.05);
}

}  // namespace
}  // namespace ddpprof::report
