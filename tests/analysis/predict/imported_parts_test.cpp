// Parts of imported steps that contradict each other, that are missing, or that are neither compute nor waiting.
#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/fit/not_supported.hpp"
#include "analysis/predict/predict.hpp"
#include "tests/analysis/fit/synthetic.hpp"

namespace ddpprof::fit {
namespace {

using synthetic::TemporaryDatabase;
using synthetic::Truth;
using testing::HasSubstr;

Truth gpu_job() {
  Truth truth;
  truth.nccl = true;
  truth.idle_share = 0.3;
  truth.copy_back_s_per_byte = 0.0;
  return truth;
}

void add_import(store::Database& database, const std::vector<std::int64_t>& workers) {
  synthetic::add_ddp(database, gpu_job(), workers, 1);
  database.sql().exec("UPDATE measurement SET kind = 'import'");
}

PredictOptions at_workers(std::vector<std::int64_t> workers, const std::vector<std::string>& change = {}) {
  PredictOptions options;
  options.workers = std::move(workers);
  options.what_if = parse_what_if(change);
  return options;
}

std::string reason_for(store::Database& database, const PredictOptions& options) {
  try {
    predict_all(database, options);
  } catch (const NotSupported& refused) {
    return refused.what();
  }
  return "";
}

const Prediction& row_at(const PredictResult& result, std::int64_t workers) {
  for (const Prediction& row : result.predictions)
    if (row.world_size == workers) return row;
  throw std::logic_error("not predicted");
}

std::string message_of(const PredictResult& result, const std::string& code) {
  const auto found = std::ranges::find(result.notes, code, &Note::code);
  return found == result.notes.end() ? "" : found->message;
}

// An optimizer as long as the step, as if it was recorded in the wrong step.
TEST(ImportedParts, PhasesLongerThanTheStepRefuseThePrediction) {
  TemporaryDatabase database("long-phases");
  add_import(database.get(), {1, 2});
  EXPECT_EQ(reason_for(database.get(), at_workers({8})), "");
  database.get().sql().exec("UPDATE step SET optimizer_ns = duration_ns");
  EXPECT_THAT(reason_for(database.get(), at_workers({8})), HasSubstr("of the step in sum"));
  const PredictResult measured = predict_all(database.get(), at_workers({2}, {"compute=2x"}));
  EXPECT_TRUE(measured.what_ifs.empty());
  EXPECT_THAT(message_of(measured, "what_if_none"), HasSubstr("of the step in sum"));
}

TEST(ImportedParts, WithoutPhasesOtherNAreRefusedWithTheReason) {
  TemporaryDatabase database("no-phases");
  add_import(database.get(), {2});
  database.get().sql().exec("DELETE FROM phase; UPDATE step SET forward_ns = 0, backward_ns = 0, optimizer_ns = 0");
  EXPECT_THAT(reason_for(database.get(), at_workers({8})), HasSubstr("replays of CUDA graphs"));
}

// In each step the device copies for 10 ms without a kernel. It does not wait for launches in this time.
TEST(ImportedParts, ExposedCopiesAreOtherInMeasuredAndPredictedRows) {
  TemporaryDatabase all("copies-all"), some("copies-some");
  add_import(all.get(), {1, 2, 4, 8});
  add_import(some.get(), {2, 4});
  const PredictResult before = predict_all(some.get(), at_workers({8}));
  for (TemporaryDatabase* one : {&all, &some})
    one->get().sql().exec("UPDATE step SET compute_ns = compute_ns - 10000000");
  const PredictResult measured = predict_all(all.get(), at_workers({8})),
                      predicted = predict_all(some.get(), at_workers({8}));
  EXPECT_NEAR(row_at(measured, 8).other_s, row_at(before, 8).other_s + 0.010, 1e-3);
  EXPECT_NEAR(row_at(predicted, 8).other_s, row_at(before, 8).other_s + 0.010, 1e-3);
  EXPECT_NEAR(row_at(predicted, 8).compute_s, row_at(measured, 8).compute_s, 0.02 * row_at(measured, 8).compute_s);
  EXPECT_NEAR(row_at(predicted, 8).host_s, row_at(measured, 8).host_s, 0.03 * row_at(measured, 8).host_s);
}

// Without message sizes there is no model of the communication: a change of the measured step would leave it out.
TEST(ImportedParts, WithoutMessageSizesChangesAreRefused) {
  TemporaryDatabase database("no-sizes");
  add_import(database.get(), {2});
  database.get().sql().exec("UPDATE collective SET bytes = 0; UPDATE measurement SET parameter_bytes = 0");
  for (const char* change : {"overlap=off", "compute=2x", "host=2x"}) {
    const PredictResult result = predict_all(database.get(), at_workers({2}, {change}));
    EXPECT_TRUE(result.what_ifs.empty()) << change;
    EXPECT_THAT(message_of(result, "what_if_none"), HasSubstr("not recorded")) << change;
    double sum = 0.0;
    for (const TermGain& gain : result.why.at(0).gains) sum += gain.share;
    EXPECT_GT(sum, 0.5) << "the parts of the measured step";
  }
}

// All-reduces that take less time the larger they are: no model fits them, so other N and changes are refused alike.
TEST(ImportedParts, AnUnusableFitAnswersNoChange) {
  TemporaryDatabase database("unusable");
  add_import(database.get(), {2});
  database.get().sql().exec(
      "UPDATE collective SET skew_ns = 0, end_ns = start_ns + CASE bucket WHEN 0 THEN 400000000 WHEN 2 THEN 20000000 "
      "ELSE 1000000 END");
  const PredictResult result = predict_all(database.get(), at_workers({2, 8}, {"bandwidth=2x"}));
  EXPECT_EQ(result.predictions.size(), 1U);
  EXPECT_THAT(message_of(result, "prediction_none"), HasSubstr("all-reduce: not usable"));
  EXPECT_TRUE(result.what_ifs.empty());
  EXPECT_THAT(message_of(result, "what_if_none"), HasSubstr("all-reduce: not usable"));
}

TEST(ImportedParts, AChangeOfAnUnknownBatchIsRefused) {
  TemporaryDatabase database("no-batch");
  add_import(database.get(), {1, 2});
  database.get().sql().exec("UPDATE step SET samples = 0; UPDATE measurement SET batch_per_worker = 0");
  const PredictResult result = predict_all(database.get(), at_workers({4}, {"batch_per_worker=64"}));
  EXPECT_TRUE(result.what_ifs.empty());
  EXPECT_THAT(message_of(result, "what_if_none"), HasSubstr("--batch-per-worker"));
}

}  // namespace
}  // namespace ddpprof::fit
