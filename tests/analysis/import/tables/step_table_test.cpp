// A table of step times in a database gives the same answers as the table itself.
#include <SQLiteCpp/Statement.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/fit/table/step_csv.hpp"
#include "analysis/fit/table/stored_steps.hpp"
#include "analysis/import/tables/tables.hpp"
#include "analysis/import/tables/text_file.hpp"
#include "analysis/metrics/measured.hpp"
#include "analysis/metrics/scaling.hpp"
#include "analysis/predict/predict.hpp"
#include "analysis/predict/tables/step_table_prediction.hpp"
#include "analysis/report/report.hpp"
#include "analysis/report/tables/models/what_if_tables.hpp"
#include "tests/analysis/import/tables/table_folder.hpp"

namespace ddpprof::import {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Two batch sizes without other workers, placements on one, two, three and four nodes; one placement occurs twice in
// the table.
constexpr const char* table =
    "workers,nodes,batch_per_worker,step_time_s,devices_per_node\n"
    "1,1,8,0.100,1\n1,1,16,0.180,1\n2,1,8,0.110,2\n4,1,8,0.118,4\n2,2,8,0.140,1\n4,2,8,0.163,2\n3,3,8,0.171,1\n"
    "4,4,8,0.180,1\n2,2,8,0.1415,1\n8,4,8,0.199,2\n8,4,8,0.2051,2\n";

class StepTableImport : public test::TableFolder {
 protected:
  std::vector<fit::StepRow> read(const std::string& text) const { return fit::read_step_csv(write("steps.csv", text)); }
};

TEST_F(StepTableImport, RowsComeBackInTheirOrder) {
  const std::vector<fit::StepRow> rows = read(
      "workers,nodes,batch_per_worker,step_time_s,devices_per_node,accumulation,sync_time_s\n"
      "1,1,8,0.100,1,1,0\n4,2,8,0.123456789,3,2,0.05\n4,2,8,0.2,2,2,0.05\n4,2,8,0.11,3,2,0.04\n");
  store::Database database = make_database();
  EXPECT_EQ(import_step_table(database, rows, "net"), 3) << "devices of the fullest node distinguish placements";
  const std::vector<fit::StepRow> stored = fit::stored_steps(database);
  ASSERT_EQ(stored.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(stored[i].workers, rows[i].workers) << i;
    EXPECT_EQ(stored[i].nodes, rows[i].nodes) << i;
    EXPECT_EQ(stored[i].devices_per_node, rows[i].devices_per_node) << i;
    EXPECT_EQ(stored[i].batch_per_worker, rows[i].batch_per_worker) << i;
    EXPECT_EQ(stored[i].accumulation, rows[i].accumulation) << i;
    EXPECT_EQ(stored[i].step_s, rows[i].step_s) << i << ": whole nanoseconds are restored exactly";
    EXPECT_EQ(stored[i].sync_s, rows[i].sync_s) << i;
  }
}

TEST_F(StepTableImport, WhatNanosecondsDoNotHoldIsRefused) {
  store::Database database = make_database();
  EXPECT_THROW(import_step_table(database, read("workers,nodes,batch_per_worker,step_time_s\n1,1,8,1.4e-9\n"), "net"),
               TableError);
}

TEST_F(StepTableImport, WaitingThatWasNotGivenStaysUnknown) {
  store::Database database = make_database();
  import_step_table(database, read(table), "net");
  for (const fit::StepRow& row : fit::stored_steps(database)) EXPECT_LT(row.sync_s, 0.0);
}

TEST_F(StepTableImport, ItsDatabaseAnswersAsTheTableDoes) {
  const std::vector<fit::StepRow> rows = read(table);
  store::Database database = make_database();
  import_step_table(database, rows, "net");
  fit::PredictOptions options;
  options.workers = {16, 4, 16};
  const std::vector<fit::Prediction> predictions = fit::predict_all(database, options).predictions;
  const fit::StepTable direct(rows, fit::table_options(options.confidence));
  const fit::TableQuestion question = fit::usual_question(rows);
  EXPECT_EQ(question.per_node, 4);
  EXPECT_EQ(question.batch_per_worker, 8);
  ASSERT_EQ(predictions.size(), 2U);
  for (const fit::Prediction& row : predictions) {
    const fit::TablePrediction expected = direct.predict(question.of(row.world_size));
    EXPECT_EQ(row.step_s, expected.step_s);
    EXPECT_EQ(row.step_low_s, expected.low_s);
    EXPECT_EQ(row.step_high_s, expected.high_s);
    EXPECT_NEAR(row.throughput, static_cast<double>(row.world_size) * 8.0 / row.step_s, 1e-9);
    EXPECT_EQ(row.bound, expected.bound);
    EXPECT_EQ(row.gpus_per_node, 4);
  }
  EXPECT_EQ(predictions[1].world_size, 16);
  EXPECT_DOUBLE_EQ(predictions[1].extrapolation, 2.0);
  EXPECT_LT(predictions[1].step_low_s, predictions[1].step_s);
}

// Strong scaling keeps the samples of a step of all ranks; a batch that differs by one sample does not.
TEST_F(StepTableImport, TheUsualQuestionKeepsAGlobalBatch) {
  const std::string heading = "workers,nodes,batch_per_worker,step_time_s\n";
  const fit::TableQuestion strong = fit::usual_question(read(heading + "8,1,64,0.1\n16,2,32,0.06\n48,6,10,0.03\n"));
  EXPECT_EQ(strong.global_batch, 480);
  EXPECT_EQ(strong.of(96).batch_per_worker, 5);
  // The slowest rank has the rest, too.
  EXPECT_EQ(strong.of(300).batch_per_worker, 2);
  EXPECT_EQ(strong.samples(strong.of(300)), 480.0);
  const fit::TableQuestion micro =
      fit::usual_question(read("workers,nodes,batch_per_worker,accumulation,step_time_s\n8,1,16,16,3.20\n"
                               "16,2,16,8,1.63\n32,4,16,4,.85\n64,8,16,2,.46\n"));
  EXPECT_EQ(micro.global_batch, 2048);
  EXPECT_EQ(micro.of(128).accumulation, 1);
  EXPECT_EQ(micro.of(128).batch_per_worker, 16);
  EXPECT_EQ(micro.of(4).accumulation, 16) << "as many as were measured";
  const fit::TableQuestion both = fit::usual_question(
      read("workers,nodes,batch_per_worker,accumulation,step_time_s\n8,1,8,4,.64\n16,2,4,4,.36\n32,4,2,4,.22\n"));
  EXPECT_EQ(both.of(64).accumulation, 4);
  EXPECT_EQ(both.of(128).accumulation, 2);
  EXPECT_EQ(both.of(128).batch_per_worker, 1);
  const fit::TableQuestion weak = fit::usual_question(read(heading + "1,1,32,0.1\n8,1,32,0.1\n16,2,31,0.11\n"));
  EXPECT_EQ(weak.global_batch, 0);
  EXPECT_EQ(weak.of(32).batch_per_worker, 32);
}

// Both strategies of a table are predicted as each of them is from a table of its own.
TEST_F(StepTableImport, StrategiesOfATableAreTablesOfTheirOwn) {
  const std::string heading = "workers,nodes,batch_per_worker,step_time_s,strategy\n";
  const std::string ddp = "1,1,8,0.1,ddp\n2,1,8,0.11,ddp\n4,1,8,0.115,ddp\n";
  const std::string fsdp = "1,1,8,0.1,fsdp\n2,1,8,0.15,fsdp\n4,1,8,0.19,fsdp\n";
  const std::string other = "8,1,8,0.3,zero3\n";
  store::Database database = make_database();
  import_step_table(database, read(heading + "1,1,8,0.1,ddp\n" + fsdp + "2,1,8,0.11,ddp\n4,1,8,0.115,ddp\n" + other),
                    "net");
  fit::PredictOptions options;
  options.workers = {8};
  options.gpus_per_node = 8;
  const fit::PredictResult both = fit::predict_all(database, options);
  ASSERT_EQ(both.predictions.size(), 2U);
  const std::vector<fit::Prediction> alone = {fit::predict_steps(read(heading + ddp), options).predictions.at(0),
                                              fit::predict_steps(read(heading + fsdp), options).predictions.at(0)};
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(both.predictions[i].strategy, alone[i].strategy);
    EXPECT_EQ(both.predictions[i].step_s, alone[i].step_s);
    EXPECT_EQ(both.predictions[i].step_high_s, alone[i].step_high_s);
  }
  EXPECT_GT(alone[1].step_s, 1.5 * alone[0].step_s);
  ASSERT_EQ(both.notes.size(), 1U);
  EXPECT_THAT(both.notes[0].message, HasSubstr("zero3 is not predicted: all steps were measured at 8 workers"));
}

TEST_F(StepTableImport, AKeptGlobalBatchEndsWithOneSampleForEachWorker) {
  const std::vector<fit::StepRow> rows =
      read("workers,nodes,batch_per_worker,step_time_s\n1,1,64,0.64\n2,1,32,0.35\n4,1,16,0.2\n");
  fit::PredictOptions options;
  options.workers = {64, 128};
  options.gpus_per_node = 128;
  const fit::PredictResult result = fit::predict_steps(rows, options);
  ASSERT_EQ(result.predictions.size(), 1U);
  EXPECT_NEAR(result.predictions[0].throughput * result.predictions[0].step_s, 64.0, 1e-9);
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_THAT(result.notes[0].message, HasSubstr("ddp at N = 128 is not predicted: the global batch of 64 samples"));
}

// One reason is one note, however many N it refuses.
TEST_F(StepTableImport, ARefusalIsSaidOnceForAllN) {
  const std::vector<fit::StepRow> rows =
      read("workers,nodes,batch_per_worker,step_time_s\n1,1,64,0.64\n2,1,32,0.35\n4,1,16,0.2\n");
  fit::PredictOptions options;
  options.workers = {8, 128, 256, 512};
  options.gpus_per_node = 512;
  const fit::PredictResult result = fit::predict_steps(rows, options);
  EXPECT_EQ(result.predictions.size(), 1U);
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_THAT(result.notes[0].message, HasSubstr("ddp at N = 128, 256, 512 is not predicted: the global batch of 64"));
  options.workers = {128, 256};
  try {
    fit::predict_steps(rows, options);
    ADD_FAILURE() << "no N is predicted";
  } catch (const fit::NotSupported& error) {
    EXPECT_EQ(error.reason().find("global batch"), error.reason().rfind("global batch")) << error.reason();
  }
}

// A table does not contain the devices and cores of its machines.
TEST_F(StepTableImport, MachinesAreUnknown) {
  store::Database database = make_database();
  import_step_table(database, read(table), "net");
  for (const metrics::Configuration& one : metrics::read_configurations(database.sql())) {
    EXPECT_EQ(one.device, "unknown");
    EXPECT_EQ(one.cores, 0);
  }
  const report::Report machines = report::build_report(database, "summary");
  int found = 0;
  for (const report::Table& one : machines.tables) {
    if (one.name != "run") continue;
    for (const report::Row& row : one.rows) {
      EXPECT_EQ(std::get<std::string>(report::cell_of(one, row, "device")), "unknown");
      for (const char* column : {"cores", "threads_per_rank"})
        EXPECT_TRUE(std::holds_alternative<std::monostate>(report::cell_of(one, row, column))) << column;
      ++found;
    }
  }
  EXPECT_GT(found, 0);
}

// Measured N of strong scaling are all shown; a table has no exposed communication without its column; the global batch
// and so the learning rate are the same at every N.
TEST_F(StepTableImport, ReportsOfStrongScaling) {
  store::Database database = make_database();
  const std::vector<fit::StepRow> rows =
      read("workers,nodes,batch_per_worker,step_time_s\n1,1,64,0.64\n2,1,32,0.35\n4,1,16,0.2\n");
  import_step_table(database, rows, "net");
  fit::PredictOptions options;
  options.workers = {8};
  fit::write_predictions(database, fit::predict_all(database, options));
  const report::Report screen = report::build_report(database, report::answer_report);
  std::vector<std::int64_t> measured;
  std::string answer;
  for (const report::Table& one : screen.tables)
    for (const report::Row& row : one.rows) {
      if (one.name == "answer") answer += std::get<std::string>(row[1]) + "\n";
      if (one.name == "at_a_glance" && std::get<std::string>(report::cell_of(one, row, "source")) == "measured")
        measured.push_back(std::get<std::int64_t>(report::cell_of(one, row, "workers")));
    }
  EXPECT_EQ(measured, (std::vector<std::int64_t>{1, 2, 4}));
  EXPECT_THAT(answer, HasSubstr("N = 4: 200 ms per step"));
  EXPECT_THAT(answer, testing::Not(HasSubstr("without DDP")));
  EXPECT_THAT(answer, testing::Not(HasSubstr("Communication is more than")));
}

// The measured N of a table that shows no communication have no part in the knee.
TEST_F(StepTableImport, UnknownCommunicationIsNotZero) {
  store::Database database = make_database();
  const std::vector<fit::StepRow> rows =
      read("workers,nodes,batch_per_worker,step_time_s\n1,1,8,0.1\n2,1,8,0.25\n4,1,8,0.4\n8,1,8,0.9\n");
  import_step_table(database, rows, "net");
  for (const metrics::Configuration& one : metrics::read_configurations(database.sql()))
    EXPECT_FALSE(one.communication_known) << one.world_size;
  EXPECT_TRUE(metrics::measured_scaling(metrics::read_configurations(database.sql())).empty());
  const std::string waits = "workers,nodes,batch_per_worker,step_time_s,sync_time_s\n1,1,8,0.1,0\n2,1,8,0.25,0.15\n";
  store::Database known = make_database("known.db");
  import_step_table(known, read(waits), "net");
  const auto scaling = metrics::measured_scaling(metrics::read_configurations(known.sql()));
  ASSERT_EQ(scaling.size(), 2U);
  EXPECT_NEAR(scaling[1].point.exposed_s, 0.15, 1e-9);
}

// Throughput that stays constant may be limited by links, by the loader of the data, or by power.
TEST_F(StepTableImport, ReportsNameTheSharedResourceThatStepTimesDoNotShow) {
  const auto texts = [&](const char* name, const std::string& text) {
    store::Database database = make_database(name);
    import_step_table(database, read(text), "net");
    fit::PredictOptions options;
    options.workers = {8, 16};
    fit::fit_and_predict(database, options);
    std::string all;
    for (const report::Table& made : report::build_report(database, "summary").tables) {
      all += made.title + "\n" + made.note + "\n";
      if (made.name != "answer") continue;
      for (const report::Row& row : made.rows)
        for (const report::Cell& cell : row)
          if (const auto* said = std::get_if<std::string>(&cell)) all += *said + "\n";
    }
    return all + report::knee_table(fit::predict_all(database, options).knees, {}).title;
  };
  const std::string unknown = texts("plateau.db",
                                    "workers,nodes,batch_per_worker,step_time_s\n1,1,8,0.1\n2,1,8,0.104\n"
                                    "4,1,8,0.2\n8,1,8,0.4\n");
  EXPECT_THAT(unknown, HasSubstr("25.0 % compute, 75.0 % communication or another shared resource"));
  EXPECT_THAT(unknown, Not(HasSubstr("% exposed transfer")));
  EXPECT_THAT(unknown, Not(HasSubstr("which communication dominates")));
  EXPECT_THAT(unknown, Not(HasSubstr("communication-bound")));
  EXPECT_THAT(unknown, HasSubstr("without sync_time_s, exposed transfer and communication also contain"));
  const std::string known = texts("waits.db",
                                  "workers,nodes,batch_per_worker,step_time_s,sync_time_s\n1,1,8,0.1,0\n"
                                  "2,1,8,0.104,0.004\n4,1,8,0.2,0.1\n8,1,8,0.4,0.3\n");
  EXPECT_THAT(known, HasSubstr("which communication dominates"));
  EXPECT_THAT(known, Not(HasSubstr("shared resource dominates"))) << "the waiting was measured";
}

TEST_F(StepTableImport, SharingBelongsToCompute) {
  const std::vector<fit::StepRow> rows =
      read("workers,nodes,batch_per_worker,step_time_s,sync_time_s\n1,1,8,0.1,0\n8,1,8,0.2,0.05\n");
  fit::PredictOptions options;
  options.workers = {8};
  const fit::Prediction row = fit::predict_steps(rows, options).predictions.at(0);
  EXPECT_NEAR(row.compute_s, 0.15, 0.002);
  EXPECT_NEAR(row.compute_s + row.exposed_s, row.step_s, 1e-9);
  EXPECT_EQ(row.other_s, 0.0);
}

TEST_F(StepTableImport, MistakesOfATableAreWarnings) {
  const std::string heading = "workers,nodes,batch_per_worker,step_time_s\n";
  fit::PredictOptions options;
  options.workers = {8};
  const auto warning_of = [&](const std::string& text) {
    std::string all;
    for (const fit::Note& note : fit::predict_steps(read(heading + text), options).notes)
      if (note.code == "table_doubtful") all += note.message;
    return all;
  };
  EXPECT_THAT(warning_of("1,1,8,0.1\n2,1,8,0.01\n4,1,8,0.011\n"),
              HasSubstr("N = 2 has 20 times the throughput of one worker, more than 2 times, which cannot be"));
  EXPECT_THAT(warning_of("1,1,8,0.1\n2,1,8,0.11\n2,1,8,11\n4,1,8,0.12\n"),
              HasSubstr("rows of N = 2 with the same batch and placement differ from 110 ms to 11 s"));
  EXPECT_EQ(warning_of("1,1,8,0.1\n2,1,8,0.099\n2,1,8,0.12\n4,1,8,0.12\n"), "");
}

TEST_F(StepTableImport, WhatATableCannotAnswerIsRefused) {
  store::Database database = make_database();
  import_step_table(database, read(table), "net");
  fit::PredictOptions options;
  const std::vector<std::string> change = {"bandwidth=2x"};
  options.what_if = fit::parse_what_if(change);
  EXPECT_THROW(fit::predict_all(database, options), fit::NotSupported);
  EXPECT_THROW(fit::fit_database(database), fit::NotSupported);
  options = {};
  options.workers = {0};
  EXPECT_THROW(fit::predict_all(database, options), std::invalid_argument);
}

TEST_F(StepTableImport, OneNodeDoesNotShowLinksBetweenNodes) {
  store::Database database = make_database();
  import_step_table(database, read("workers,nodes,batch_per_worker,step_time_s\n1,1,8,0.1\n2,1,8,0.12\n4,1,8,0.13\n"),
                    "net");
  fit::PredictOptions options;
  options.workers = {4, 8};
  const fit::PredictResult result = fit::predict_all(database, options);
  ASSERT_EQ(result.predictions.size(), 2U);
  const fit::Prediction &measured = result.predictions[0], &across = result.predictions[1];
  EXPECT_LT(measured.step_high_s / measured.step_low_s, 1.2);
  EXPECT_GT(across.step_high_s / across.step_low_s, 2.0);
  EXPECT_THAT(across.note, StartsWith("links between nodes were not measured"));
}

TEST_F(StepTableImport, ReportsShowItsMeasurements) {
  store::Database database = make_database();
  import_step_table(database, read(table), "net");
  const report::Report steps = report::build_report(database, "summary");
  bool found = false;
  for (const report::Table& made : steps.tables) {
    if (made.name != "step") continue;
    found = true;
    EXPECT_EQ(made.rows.size(), 9U) << "one row per placement";
  }
  EXPECT_TRUE(found);
}

TEST_F(StepTableImport, TextsAreToldApart) {
  EXPECT_EQ(text_kind(write("a.txt", table)), TextKind::step_table);
  EXPECT_EQ(text_kind(write("b.txt", "\xef\xbb\xbfnodes,workers\n")), TextKind::step_table);
  EXPECT_EQ(text_kind(write("c.csv", "a,b\n1,2\n")), TextKind::step_table) << "so that the error names what is missing";
  EXPECT_EQ(text_kind(write("d.log", "# nThread 1 nGpus 8 minBytes 8, warmup iters: 5\n")), TextKind::nccl_log);
  EXPECT_EQ(text_kind(write("e.log",
                            "[1,0]<stdout>:# Collective test\n"
                            "[1,0]<stdout>:#  size  count  type  redop  time  algbw  busbw\n")),
            TextKind::nccl_log);
  EXPECT_EQ(text_kind(write("bare.txt", "33554432 8388608 float sum 19902 1.69 2.53\n")), TextKind::nccl_log);
  EXPECT_EQ(text_kind(write("tag.txt", "0:   8   2 bfloat16 sum -1 19.2 0.0 0.0\n")), TextKind::nccl_log);
  EXPECT_EQ(text_kind(write("lines.txt", "12 34 apples\n\n0:\n5\n")), TextKind::neither);
  EXPECT_EQ(text_kind(write("f.txt", "dear reader,\nworkers of the world\n")), TextKind::neither);
  EXPECT_EQ(text_kind(write("g.txt", std::string("workers,\0nodes\n", 15))), TextKind::neither);
  EXPECT_EQ(text_kind(write("h.txt", "")), TextKind::neither);
  EXPECT_EQ(text_kind(folder_ / "missing"), TextKind::neither);
}

}  // namespace
}  // namespace ddpprof::import
