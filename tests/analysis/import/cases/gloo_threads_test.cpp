// Jobs on CPUs whose threads wait for Gloo, in hooks, functions and closures. Expected values follow from the intervals
// of made_trace.hpp.
#include <gtest/gtest.h>

#include <tuple>

#include "tests/analysis/import/cases/made_trace.hpp"
#include "tests/analysis/import/cases/measured_steps.hpp"

namespace ddpprof::import {
namespace {

TEST(cases_of_waits, AHookThatWaitsInsideOfTheBackward) {
  const Case found = import_text(MadeGloo{MadeGloo::When::in_a_hook}.text());
  ASSERT_FALSE(found.steps.empty());
  for (const MeasuredStep& step : found.steps) {
    EXPECT_EQ(step.communication_ns, 2'000'000);
    EXPECT_EQ(step.overlapped_ns, 0);
  }
}

TEST(cases_of_waits, AFunctionThatWaitsInsideOfTheBackward) {
  const Case found = import_text(MadeGloo{MadeGloo::When::in_a_function}.text());
  ASSERT_FALSE(found.steps.empty());
  for (const MeasuredStep& step : found.steps) {
    EXPECT_EQ(step.communication_ns, 2'000'000);
    EXPECT_EQ(step.overlapped_ns, 0);
  }
}

TEST(cases_of_waits, AfterTheBackward) {
  const Case found = import_text(MadeGloo{MadeGloo::When::after_backward}.text());
  ASSERT_FALSE(found.steps.empty());
  for (const MeasuredStep& step : found.steps) EXPECT_EQ(step.exposed_ns, 2'000'000);
}

TEST(cases_of_waits, AnAllReduceBesideTheBackwardIsHidden) {
  const Case found = import_text(MadeGloo{MadeGloo::When::beside_backward}.text());
  ASSERT_FALSE(found.steps.empty());
  for (const MeasuredStep& step : found.steps) {
    EXPECT_EQ(step.communication_ns, 2'300'000);
    EXPECT_EQ(step.overlapped_ns, 2'000'000);
  }
}

// Optimizer.step(closure) runs forward and backward.

using Phases = std::vector<std::tuple<std::string, std::int64_t, std::int64_t>>;  // after the start of the step

Phases phases_of_first_step(const std::string& trace) {
  const Folder folder;
  EXPECT_EQ(import_files(folder, {folder.write("trace.json", trace)}).error, "");
  store::Database database = store::Database::open_read(folder.path() / "imported.db");
  SQLite::Statement row(database.sql(),
                        "SELECT name, start_ns, duration_ns FROM phase WHERE step_id = (SELECT min(id) FROM step) "
                        "ORDER BY start_ns");
  Phases phases;
  while (row.executeStep())
    phases.emplace_back(row.getColumn(0).getString(), row.getColumn(1).getInt64(), row.getColumn(2).getInt64());
  return phases;
}

TEST(cases_of_closures, WhatTheClosureDoesIsNotOptimizer) {
  EXPECT_EQ(phases_of_first_step(MadeGloo{MadeGloo::When::beside_backward, 3, true}.text()),
            (Phases{{"optimizer", 50'000, 40'000},
                    {"forward", 90'000, 910'000},
                    {"backward", 1'000'000, 4'900'000},  // until the last all-reduce ends
                    {"optimizer", 5'900'000, 3'100'000}}));
}

TEST(cases_of_closures, TheOptimizerAfterTheBackwardIsWhole) {
  EXPECT_EQ(phases_of_first_step(MadeGloo{MadeGloo::When::beside_backward}.text()),
            (Phases{{"forward", 0, 1'000'000}, {"backward", 1'000'000, 4'900'000}, {"optimizer", 8'500'000, 500'000}}));
}

}  // namespace
}  // namespace ddpprof::import
