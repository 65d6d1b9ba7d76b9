// Parts of an imported step in the answer and in predictions: input data, and communication besides the gradients'.
#include <gmock/gmock.h>

#include <map>

#include "analysis/import/load/import.hpp"
#include "analysis/predict/predict.hpp"
#include "analysis/report/answer/glance.hpp"
#include "analysis/report/report.hpp"
#include "tests/analysis/import/cases/made_trace.hpp"
#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {
namespace {

using testing::HasSubstr;

struct Job {
  explicit Job(const std::vector<std::string>& traces) : database(store::Database::create(folder.path() / "i.db")) {
    ImportOptions options;
    for (std::size_t rank = 0; rank < traces.size(); ++rank)
      options.files.push_back(folder.write("rank" + std::to_string(rank) + ".json", traces[rank]));
    imported = import_into(database, options);
    database.finish_load();
    fit::PredictOptions asked;
    asked.workers = {1, 2, 4, 16};
    const fit::Results results = fit::fit_and_predict(database, asked, {});
    for (const fit::Prediction& row : results.predicted.predictions) rows[row.world_size] = row;
    const report::Report report = report::build_report(database, "summary");
    for (const report::Row& row : report.tables.at(0).rows) text += std::get<std::string>(row.at(1)) + "\n";
  }
  Folder folder;
  store::Database database;
  Imported imported;
  std::map<std::int64_t, fit::Prediction> rows;
  std::string text;  // of the answer
};

std::string at_us(const MadeTrace& made, int step, int after_us) {
  return std::to_string(made.at_us + 4000 * step + after_us);
}

MadeTrace rank_of_two(int rank) {
  MadeTrace made;
  made.steps = 8;
  made.pid = 100 + rank;
  made.device = rank;
  made.distributed =
      R"("distributedInfo": {"backend": "nccl", "rank": )" + std::to_string(rank) + R"(, "world_size": 2})";
  return made;
}

TEST(AnswerParts, OneStepHasNoIntervalAndThisIsStated) {
  std::vector<std::string> texts;
  for (int rank = 0; rank < 2; ++rank) {
    MadeTrace made = rank_of_two(rank);
    made.steps = 1;
    texts.push_back(made.text());
  }
  Job job(texts);
  ASSERT_FALSE(job.rows.empty());
  std::string codes;
  for (const char* name : {"answer", "summary"})
    for (const report::Table& table : report::build_report(job.database, name).tables) {
      if (table.name != "notices") continue;
      for (const report::Row& row : table.rows) codes += *report::value_of<std::string>(table, row, "code") + "\n";
    }
  std::vector<report::GlanceStep> steps(2);
  steps[0].measured = true;
  steps[0].steps = 1;
  steps[1].confidence = 0.9;
  EXPECT_EQ(report::glance_table(steps, 10, {}).note,
            "low, high: the only measured step itself, and the 90 % interval of a prediction.");
  EXPECT_THAT(codes, HasSubstr("one_step"));
}

// The device waits 1500 us of the 4000 us of a step for its data, but not in the first of eight steps. Shares are means
// over the steps: 7/8 of 37.5 %.
TEST(AnswerParts, WaitingForInputIsNamed) {
  std::vector<std::string> texts;
  for (int rank = 0; rank < 2; ++rank) {
    const MadeTrace made = rank_of_two(rank);
    TraceText trace = made.trace();
    for (int step = 0; step < made.steps; ++step)
      trace.events.push_back(complete_event(
          "user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at_us(made, step, 2000),
          "1500", std::to_string(made.pid), std::to_string(made.pid), "\"External id\": 900"));
    texts.push_back(trace.text());
  }
  const Job job(texts);
  EXPECT_THAT(job.text, HasSubstr("32.8 % waiting for input data"));
}

// In each step the device computes from 100 to 600 us, all-reduces 256 bytes to 900 us as synchronised batch
// normalisation does, computes the backward to 1400 us, and all-reduces the gradients to 2400 us. It is idle for 1700
// us of the 4000 us.
std::string with_exchange_in_forward(int rank) {
  const MadeTrace made = rank_of_two(rank);
  TraceText trace = made.trace();
  const std::string thread = std::to_string(made.pid), device = std::to_string(made.device);
  for (int step = 0; step < made.steps; ++step) {
    const auto id = [&](int which) { return "\"External id\": " + std::to_string(5000 + 10 * step + which); };
    const auto correlation = [&](int which) { return "\"correlation\": " + std::to_string(7000 + 10 * step + which); };
    const auto host = [&](const char* category, const char* name, int us, const char* lasts, const std::string& args) {
      trace.events.push_back(complete_event(category, name, at_us(made, step, us), lasts, thread, thread, args));
    };
    const auto kernel = [&](const char* name, int us, const char* lasts, const char* stream, int which) {
      trace.events.push_back(
          complete_event("kernel", name, at_us(made, step, us), lasts, device, stream,
                         "\"device\": " + device + ", \"stream\": " + stream + ", " + correlation(which)));
    };
    std::string& forward = trace.event_with("\"sgemm\"", "\"ts\": " + at_us(made, step, 100));
    forward = replaced(forward, "\"dur\": 1000", "\"dur\": 500");
    std::string& gradients = trace.event_with("ncclDevKernel", "\"ts\": " + at_us(made, step, 900));
    gradients = replaced(gradients, "\"ts\": " + at_us(made, step, 900), "\"ts\": " + at_us(made, step, 1400));
    host("cpu_op", "c10d::allreduce_", 100, "60", id(1));
    host("cpu_op", "record_param_comms", 110, "40",
         id(2) + R"(, "Collective name": "allreduce", "In msg nelems": 64, "Out msg nelems": 64, "dtype": "Float", )" +
             made.group);
    host("cuda_runtime", "cudaLaunchKernel", 120, "5", id(2) + ", " + correlation(1));
    kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 600, "300", "20", 1);
    host("cuda_runtime", "cudaLaunchKernel", 220, "5", correlation(2));
    kernel("sgemm_of_backward", 900, "500", "7", 2);
  }
  return trace.text();
}

TEST(AnswerParts, CommunicationBesidesTheGradientsGrowsAndIsNotTheHosts) {
  const Job job({with_exchange_in_forward(0), with_exchange_in_forward(1)});
  ASSERT_EQ(job.imported.error, "");
  ASSERT_EQ(job.rows.size(), 4U) << job.text;
  // All steps are equal, the first one too.
  EXPECT_NEAR(job.rows.at(2).exposed_s, 1.3e-3, 0.01e-3);
  EXPECT_NEAR(job.rows.at(2).host_s, 1.7e-3, 0.01e-3);
  for (const std::int64_t workers : {4, 16}) {
    EXPECT_NEAR(job.rows.at(workers).host_s, 1.7e-3, 0.05e-3) << workers;
    EXPECT_NEAR(job.rows.at(workers).compute_s, 1.0e-3, 0.05e-3) << workers;
    EXPECT_GT(job.rows.at(workers).exposed_s, 1.3e-3) << workers;
  }
  EXPECT_GT(job.rows.at(16).exposed_s, job.rows.at(4).exposed_s);
  EXPECT_NEAR(job.rows.at(1).step_s, 2.7e-3, 0.05e-3) << "one rank exchanges nothing";
}

}  // namespace
}  // namespace ddpprof::import
