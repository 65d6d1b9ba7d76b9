// Everything on the scaling page equals the results of the predictor, the reports and `ddpprof predict`, bit by bit.
#include "gui/models/scaling/snapshot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "analysis/import/load/import.hpp"
#include "analysis/report/tables/models/model_tables.hpp"
#include "analysis/report/tables/models/outlook_tables.hpp"
#include "analysis/report/tables/models/what_if_tables.hpp"
#include "gui/models/scaling/levers.hpp"
#include "gui/models/scaling/scaling_model.hpp"
#include "gui/models/scaling/worker_counts.hpp"
#include "tests/analysis/import/cases/made_trace.hpp"
#include "tests/gui/scaling/files.hpp"

namespace ddpprof::gui::whatif {
namespace {

constexpr auto whenever = Simulations::Clock::time_point::max();
bool never() { return false; }

Snapshot whole_answer(const std::shared_ptr<const OpenedFile>& file, const Knobs& knobs, std::int64_t limit) {
  Simulations simulations(file);
  return answer(simulations, {knobs, measured_knobs(*file, knobs.base_strategy()), limit}, whenever, never);
}

fit::PredictOptions same_question(const Snapshot& shot, const OpenedFile& file) {
  fit::PredictOptions options = predict_options(file, shot.knobs);
  options.workers.clear();
  for (const CurvePoint& point : shot.predicted.points) options.workers.push_back(point.workers);
  options.what_if = shot.change;
  return options;
}

std::vector<fit::Prediction> of_strategy(const fit::PredictResult& result, const std::string& strategy) {
  std::vector<fit::Prediction> rows;
  for (const fit::Prediction& row : result.predictions)
    if (row.strategy == strategy) rows.push_back(row);
  return rows;
}

void expect_same(const Snapshot& shot, store::Database& database, const OpenedFile& file) {
  const fit::PredictResult result = fit::predict_all(database, same_question(shot, file));
  const std::string strategy = shot.knobs.base_strategy();
  const std::vector<fit::Prediction> rows = of_strategy(result, strategy);
  ASSERT_EQ(shot.predicted.points.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const CurvePoint& point = shot.predicted.points[i];
    EXPECT_EQ(point.workers, rows[i].world_size);
    EXPECT_EQ(point.step_s.value, rows[i].step_s);
    EXPECT_EQ(point.step_s.low, rows[i].step_low_s);
    EXPECT_EQ(point.step_s.high, rows[i].step_high_s);
    EXPECT_EQ(point.throughput.value, rows[i].throughput);
    EXPECT_EQ(point.efficiency.value, rows[i].efficiency);
    EXPECT_EQ(point.terms.exposed_s, rows[i].exposed_s);
    EXPECT_EQ(point.terms.skew_s, rows[i].skew_s);
    EXPECT_EQ(point.terms.compute_s, rows[i].compute_s);
    EXPECT_EQ(point.wide, fit::is_wide(rows[i]));
    EXPECT_EQ(point.far, rows[i].extrapolation > 4.0);
    if (point.workers != shot.knobs.workers) continue;
    ASSERT_TRUE(shot.answer);
    const fit::Prediction& said = shot.answer->prediction;
    EXPECT_EQ(said.step_s, rows[i].step_s);
    EXPECT_EQ(said.step_low_s, rows[i].step_low_s);
    EXPECT_EQ(said.bound, rows[i].bound);
    EXPECT_EQ(said.note, rows[i].note);
    EXPECT_EQ(said.confidence, rows[i].confidence);
  }
  for (const fit::WhyRow& why : result.why) {
    if (why.workers != shot.knobs.workers || why.strategy != strategy) continue;
    const auto& gains = why.changed ? shot.answer->changed_gains : shot.answer->gains;
    ASSERT_EQ(gains.size(), why.gains.size());
    for (std::size_t i = 0; i < gains.size(); ++i) {
      EXPECT_EQ(gains[i].term, why.gains[i].term);
      EXPECT_EQ(gains[i].share, why.gains[i].share);
    }
  }
  std::size_t compared = 0;
  for (const fit::WhatIfRow& row : result.what_ifs) {
    if (row.strategy != strategy) continue;
    ASSERT_TRUE(shot.changed);
    const CurvePoint* point = shot.changed->at(row.workers);
    ASSERT_NE(point, nullptr) << row.workers;
    ++compared;
    EXPECT_EQ(point->step_s.value, row.changed_step_s);
    EXPECT_EQ(point->step_s.low, row.changed_low_s);
    EXPECT_EQ(point->step_s.high, row.changed_high_s);
    EXPECT_EQ(point->throughput.value, row.changed_throughput);
    if (row.workers != shot.knobs.workers) continue;
    ASSERT_TRUE(shot.answer->what_if);
    EXPECT_EQ(shot.answer->what_if->speedup, row.speedup);
    EXPECT_EQ(shot.answer->what_if->speedup_low, row.speedup_low);
    EXPECT_EQ(shot.answer->what_if->speedup_high, row.speedup_high);
    EXPECT_EQ(shot.answer->what_if->bound, row.bound);
    EXPECT_EQ(shot.answer->what_if->changed_bound, row.changed_bound);
  }
  EXPECT_EQ(compared > 0, shot.change.any());
}

TEST(Snapshot, EqualsWhatPredictPrints) {
  const TestFile file;
  const auto opened = file.open();
  store::Database database = file.database();
  Knobs knobs = measured_knobs(*opened, "ddp");
  expect_same(whole_answer(opened, knobs, 64), database, *opened);
  knobs.bandwidth = 2.0;
  knobs.sixteen_bit = "compression=fp16";
  knobs.workers = 48;
  expect_same(whole_answer(opened, knobs, 256), database, *opened);
  knobs.gpus_per_node = 4;
  knobs.accumulation = 4;
  expect_same(whole_answer(opened, knobs, 16), database, *opened);
}

TEST(Snapshot, EqualsWhatPredictPrintsForDataParallel) {
  fit::synthetic::Truth truth;
  truth.noise = 0.01;
  truth.cores = 4;
  const TestFile file(truth, {1, 2, 4}, {1, 2, 4});
  const auto opened = file.open();
  store::Database database = file.database();
  Knobs knobs = measured_knobs(*opened, "dp");
  knobs.batch = 64;
  expect_same(whole_answer(opened, knobs, 16), database, *opened);
}

TEST(Snapshot, SimulatesAnotherStrategyAsPredictDoes) {
  const TestFile file;
  const auto opened = file.open();
  store::Database database = file.database();
  Knobs knobs = measured_knobs(*opened, "ddp");
  knobs.strategy = "zero2";
  knobs.workers = 8;
  expect_same(whole_answer(opened, knobs, 8), database, *opened);
}

// The measured points are the numbers of the reports.
TEST(MeasuredPoints, AreTheReportsRows) {
  const TestFile file(slow_links(), {1, 2, 4}, {1, 2});
  const auto opened = file.open();
  store::Database database = file.database();
  const report::Report summary = report::build_report(database, "summary");
  const auto table = [&](const std::string& name) {
    return *std::find_if(summary.tables.begin(), summary.tables.end(),
                         [&](const report::Table& one) { return one.name == name; });
  };
  const auto cell = [](const report::Table& of, const report::Row& row, const std::string& column) {
    for (std::size_t i = 0; i < of.columns.size(); ++i)
      if (of.columns[i].name == column) return row[i];
    ADD_FAILURE() << "no column " << column;
    return report::Cell();
  };
  const report::Table steps = table("step"), times = table("time");
  std::size_t compared = 0;
  for (const std::string strategy : {"ddp", "dp"}) {
    for (const MeasuredPoint& point : measured_points(opened->configurations, strategy)) {
      for (std::size_t i = 0; i < steps.rows.size(); ++i) {
        const auto of = [&](const report::Table& one, const char* column) { return cell(one, one.rows[i], column); };
        if (of(steps, "strategy") != report::Cell(strategy) || of(steps, "workers") != report::Cell(point.workers))
          continue;
        ++compared;
        EXPECT_EQ(of(steps, "step_median_s"), report::Cell(point.step_s.mid));
        EXPECT_EQ(of(steps, "step_low_s"), report::Cell(point.step_s.low));
        EXPECT_EQ(of(steps, "step_high_s"), report::Cell(point.step_s.high));
        EXPECT_EQ(of(steps, "throughput_samples_per_s"), report::Cell(point.throughput));
        EXPECT_EQ(of(steps, "speedup"), report::Cell(point.speedup.value()));
        EXPECT_EQ(of(steps, "weak_efficiency"), report::Cell(point.efficiency.value()));
        EXPECT_EQ(of(times, "compute_s"), report::Cell(point.compute_s));
        EXPECT_EQ(of(times, "overlapped_s"), report::Cell(point.overlapped_s));
        EXPECT_EQ(of(times, "exposed_s"), report::Cell(point.exposed_s));
        EXPECT_EQ(of(times, "exposed_wait_s"), report::Cell(point.exposed_wait_s));
        EXPECT_EQ(of(times, "data_wait_s"), report::Cell(point.data_wait_s));
      }
    }
  }
  EXPECT_EQ(compared, 5U);
}

// Each job of an import is a measurement.
TEST(MeasuredPoints, AreThoseOfSeveralImportedJobs) {
  const QTemporaryDir folder;
  const std::filesystem::path path = folder.filePath("jobs.db").toStdString();
  import::ImportOptions options;
  options.model = "job";
  for (const int world_size : {1, 2})
    for (int rank = 0; rank < world_size; ++rank) {
      import::MadeTrace made;
      made.pid = 100 * world_size + rank;
      if (world_size == 1) made.group = R"("Group size": 1, "Process Group Name": "0", "Process Group Ranks": "[0]")";
      made.distributed = R"("distributedInfo": {"backend": "nccl", "rank": )" + std::to_string(rank) +
                         R"(, "world_size": )" + std::to_string(world_size) + "}";
      options.files.push_back(folder.filePath(QString("n%1-%2.json").arg(world_size).arg(rank)).toStdString());
      std::ofstream(options.files.back(), std::ios::binary) << made.text();
    }
  {
    store::Database database = store::Database::create(path);
    import::import_traces(database, options);
  }
  const auto opened = open_file(path);
  std::vector<std::int64_t> workers;
  for (const MeasuredPoint& point : measured_points(opened->configurations, "ddp")) workers.push_back(point.workers);
  EXPECT_EQ(workers, (std::vector<std::int64_t>{1, 2}));
}

// The intervals take longer than a frame, so a change of a knob must not compute them again.
TEST(MeasuredPoints, AreMadeOnceForAFileAndStrategy) {
  const TestFile test(slow_links(), {1, 2, 4}, {1, 2});
  const auto file = std::make_shared<OpenedFile>(*test.open());
  Simulations simulations(file);
  Knobs knobs = measured_knobs(*file, "ddp");
  const auto measured = [&](const Knobs& asked) {
    return answer(simulations, {asked, measured_knobs(*file, asked.base_strategy()), 8}, whenever, never).measured;
  };
  ASSERT_EQ(measured(knobs).size(), 3U);
  ASSERT_EQ(measured(measured_knobs(*file, "dp")).size(), 2U);
  file->configurations.clear();  // a second reading would find no points
  knobs.bandwidth = 2.0;
  EXPECT_EQ(measured(knobs).size(), 3U);
  EXPECT_EQ(measured(measured_knobs(*file, "dp")).size(), 2U);
}

TEST(MeasuredPoints, AddUpToTheStep) {
  const TestFile file(slow_links(), {1, 2, 4}, {1, 2});
  const auto opened = file.open();
  for (const std::string strategy : {"ddp", "dp"}) {
    const std::vector<MeasuredPoint> points = measured_points(opened->configurations, strategy);
    ASSERT_FALSE(points.empty());
    for (const MeasuredPoint& point : points) {
      const StepParts of = parts(point);
      const double sum_s = of.compute_s + of.overlapped_s + of.exposed_s + of.skew_s + of.input_s + of.other_s;
      // Each part is a median of its own.
      EXPECT_NEAR(sum_s, point.step_s.mid, 0.05 * point.step_s.mid) << strategy << point.workers;
      EXPECT_EQ(of.compute_s + of.overlapped_s, point.compute_s);
      if (strategy == "ddp") {
        EXPECT_DOUBLE_EQ(of.exposed_s + of.skew_s, point.exposed_s);
      }
    }
  }
}

// For every N that is drawn or listed.
TEST(Knees, AreThoseThatPredictPrints) {
  const TestFile file(slow_links(), {1, 2, 4}, {1, 2});
  const auto opened = file.open();
  store::Database database = file.database();
  Knobs knobs = measured_knobs(*opened, "ddp");
  knobs.bandwidth = 2.0;
  for (const std::int64_t limit : {8, 4096}) {
    const Snapshot shot = whole_answer(opened, knobs, limit);
    EXPECT_FALSE(shot.knees_of_drawn);
    for (const std::vector<std::int64_t>& listed : {std::vector<std::int64_t>{8}, {1, 2, 3, 64}}) {
      fit::PredictOptions options = predict_options(*opened, knobs);
      options.workers = listed;
      options.what_if = shot.change;
      const report::Table table = report::knee_table(fit::predict_all(database, options).knees, options.what_if);
      std::vector<fit::Knee> shown = shot.predicted_knees;
      shown.insert(shown.end(), shot.changed_knees.begin(), shot.changed_knees.end());
      ASSERT_EQ(shown.size(), 6U);
      // DDP's rows come first: three shares without the change, three with it.
      ASSERT_GE(table.rows.size(), shown.size());
      for (std::size_t i = 0; i < shown.size(); ++i) {
        const report::Row& row = table.rows[i];
        EXPECT_EQ(row[0], report::Cell(std::string("ddp")));
        EXPECT_EQ(row[2], i < 3 ? report::Cell() : report::Cell(std::string("bandwidth=2x")));
        EXPECT_EQ(row[3], report::Cell(shown[i].share));
        ASSERT_TRUE(shown[i].workers)
            << "with links this slow there is a knee at every share: the test compares nothing";
        EXPECT_EQ(row[4], report::Cell(*shown[i].workers));
        EXPECT_EQ(row[5], report::Cell(shown[i].exposed_share));
        EXPECT_EQ(row[6], report::Cell(std::string(shown[i].measured ? "measured" : "predicted")));
      }
    }
  }
}

// A first look is marked as such.
TEST(Knees, OfAFirstLookUseTheDrawnN) {
  const TestFile file;
  const auto opened = file.open();
  Simulations simulations(opened);
  Knobs knobs = measured_knobs(*opened, "ddp");
  knobs.bandwidth = 3.0;
  const Question question{knobs, measured_knobs(*opened, "ddp"), 64};
  const Snapshot coarse = answer(simulations, question, Simulations::Clock::now(), never);
  EXPECT_TRUE(coarse.knees_of_drawn);
  EXPECT_FALSE(coarse.complete);
  ASSERT_EQ(coarse.changed_knees.size(), 3U);
  ASSERT_TRUE(coarse.changed_knees.front().workers);
  for (const fit::Knee& knee : coarse.changed_knees) {
    EXPECT_EQ(knee.furthest, 64);
    if (knee.workers) {
      EXPECT_NE(coarse.changed->at(*knee.workers), nullptr);
    }
  }
  const Snapshot fine = answer(simulations, question, whenever, never);
  EXPECT_FALSE(fine.knees_of_drawn);
  EXPECT_TRUE(fine.complete);
}

TEST(Snapshot, AfterTheDeadlineIsCoarseButComplete) {
  const TestFile file;
  const auto opened = file.open();
  Simulations simulations(opened);
  Knobs knobs = measured_knobs(*opened, "ddp");
  knobs.bandwidth = 3.0;
  knobs.workers = 40;
  const Question question{knobs, measured_knobs(*opened, "ddp"), 64};
  const Snapshot coarse = answer(simulations, question, Simulations::Clock::now(), never);
  EXPECT_FALSE(coarse.complete);
  EXPECT_FALSE(coarse.answer);
  ASSERT_TRUE(coarse.changed);
  EXPECT_GE(coarse.changed->points.size(), 3U);
  EXPECT_LT(coarse.changed->points.size(), 20U);
  EXPECT_EQ(coarse.changed->points.front().workers, 1);
  EXPECT_EQ(coarse.changed->points.back().workers, 64);
  EXPECT_NE(coarse.changed->at(40), nullptr);
  const Snapshot fine = answer(simulations, question, whenever, never);
  EXPECT_TRUE(fine.complete);
  for (const CurvePoint& point : coarse.changed->points)
    EXPECT_EQ(fine.changed->at(point.workers)->step_s.value, point.step_s.value);
}

TEST(Snapshot, GivesTheReasonIfAChangeIsNotPossible) {
  const TestFile file;
  const auto opened = file.open();
  Knobs knobs = measured_knobs(*opened, "ddp");
  knobs.workers = 1;
  knobs.bandwidth = 2.0;
  const Snapshot shot = whole_answer(opened, knobs, 8);
  ASSERT_TRUE(shot.answer);
  EXPECT_EQ(shot.answer->why_no_change, "a single rank does not communicate");
  const std::vector<Sentence> said = sentences(shot);
  EXPECT_TRUE(std::any_of(said.begin(), said.end(), [](const Sentence& one) {
    return one.warning && one.text == "bandwidth=2x: a single rank does not communicate.";
  }));
  Knobs dp = knobs;
  dp.strategy = "dp";
  EXPECT_THAT(whole_answer(opened, dp, 8).refusal, testing::HasSubstr("no step of dp was measured"));
}

TEST(Sentences, AnswerTheQuestion) {
  const TestFile file;
  const auto opened = file.open();
  Knobs knobs = measured_knobs(*opened, "ddp");
  knobs.bandwidth = 2.0;
  const Snapshot shot = whole_answer(opened, knobs, 64);
  const std::vector<Sentence> said = sentences(shot);
  const auto text = [&](const std::string& about) {
    for (const Sentence& one : said)
      if (one.about == about) return one.text;
    return std::string();
  };
  const fit::Prediction& row = shot.answer->prediction;
  EXPECT_THAT(text("Efficiency now"), testing::StartsWith(figure_text(row.efficiency, Quantity::efficiency)));
  EXPECT_THAT(text("Step now"), testing::StartsWith(figure_text(row.step_s, Quantity::step)));
  EXPECT_THAT(text("Binding term now"), testing::StartsWith(row.bound + " ("));
  EXPECT_THAT(text("What-if gain"), testing::StartsWith(figure_text(shot.answer->what_if->speedup, Quantity::speedup)));
  // N = 64, measured up to 4: this warning comes first.
  EXPECT_TRUE(said.front().warning);
  EXPECT_THAT(said.front().text, testing::HasSubstr("N = 64 is 16"));
}

// The list is that of the table what_helps of the command line, in its order, with its names and numbers.
void expect_levers_of_predict(const fit::synthetic::Truth& truth, std::size_t expected) {
  const TestFile file(truth);
  const auto opened = file.open();
  store::Database database = file.database();
  const Knobs measured = measured_knobs(*opened, "ddp");
  Knobs knobs = measured;
  knobs.workers = 32;
  knobs.compute = 5.0;  // knobs that are already set are ignored
  Simulations simulations(opened);
  const std::vector<Lever> levers = ranked_levers(
      without_changes(knobs, measured), [&](const Knobs& asked) { return simulations.predictor(asked); }, never);
  EXPECT_EQ(levers.size(), expected);
  const report::WorkersByStrategy asked{{"ddp", {32}}};
  const report::Table printed = report::outlook_tables(database, opened->models, asked, opened->predict).front();
  ASSERT_EQ(printed.rows.size(), levers.size());
  for (std::size_t i = 0; i < levers.size(); ++i) {
    const fit::RankedChange& change = levers[i].change;
    const auto number = [&](const char* column) { return *report::value_of<double>(printed, printed.rows[i], column); };
    EXPECT_EQ(change.change, report::value_of<std::string>(printed, printed.rows[i], "change"));
    EXPECT_EQ(change.effect.speedup, number("speedup")) << change.change;
    EXPECT_EQ(change.effect.speedup_low, number("speedup_low")) << change.change;
    EXPECT_EQ(change.effect.changed_step_s, number("changed_step_s")) << change.change;
    // The knobs of the row ask for this change alone.
    const std::vector<std::string> items = what_if_items(levers[i].knobs, measured);
    if (change.change == "sharing=dedicated") {
      EXPECT_TRUE(levers[i].knobs.dedicated);
      EXPECT_TRUE(items.empty()) << "cores select another machine and are no change";
    } else {
      EXPECT_EQ(items, std::vector<std::string>{change.change});
    }
    fit::PredictOptions options = predict_options(*opened, levers[i].knobs);
    options.workers = {32};
    options.what_if = what_if(levers[i].knobs, measured);
    const fit::PredictResult alone = fit::predict_all(database, options);
    EXPECT_EQ(items.empty() ? alone.predictions.front().step_s : alone.what_ifs.at(0).changed_step_s,
              change.effect.changed_step_s)
        << change.change;
  }
  const report::Table table = levers_table(levers, 32, 0.9);
  EXPECT_EQ(table.rows.size(), expected);
  EXPECT_EQ(table.rows.front()[1], report::Cell(levers.front().change.effect.speedup));
}

TEST(Levers, AreTheRankedChangesOfPredict) { expect_levers_of_predict(slow_links(), 9); }

TEST(Levers, OfRanksThatShareCoresHaveOwnCores) { expect_levers_of_predict(few_cores(), 10); }


TEST(PredictTables, EqualTheCommandLine) {
  const TestFile file;
  const auto opened = file.open();
  store::Database database = file.database();
  fit::PredictOptions options = opened->predict;
  options.workers = {1, 4, 64};
  options.what_if = fit::parse_what_if(std::vector<std::string>{"latency=0.5x"});
  const fit::PredictResult result = fit::predict_all(database, options);
  const PredictTables tables = predict_tables(*opened, options);
  EXPECT_EQ(tables.predictions.rows, report::predictions_table(result.predictions).rows);
  EXPECT_EQ(tables.knee.rows, report::knee_table(result.knees, options.what_if).rows);
  EXPECT_EQ(tables.notes.rows, report::notes_table(result.notes).rows);
  EXPECT_TRUE(tables.has_what_if);
  EXPECT_EQ(tables.what_if.rows.size(), result.what_ifs.size());
}

}  // namespace
}  // namespace ddpprof::gui::whatif
