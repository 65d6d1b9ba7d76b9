// Traces of jobs whose ranks divide a model, and of inference: the samples of a step, and what is said about other N.
#include <gmock/gmock.h>

#include "analysis/import/files/import_files.hpp"
#include "analysis/metrics/measured.hpp"
#include "analysis/metrics/recorded_training.hpp"
#include "analysis/report/report.hpp"
#include "tests/analysis/import/kineto/trace_text.hpp"
#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr int steps = 8;

// The sound trace, whose steps of 1000 us have a batch of 32 and an all-reduce in backward.
TraceText sound_steps(int rank) { return sound_trace(rank, 2, steps); }

// An all-reduce of the same size in the forward of each step, as tensor parallel layers have.
TraceText tensor_parallel(int rank) {
  TraceText trace = sound_steps(rank);
  for (int step = 0; step < steps; ++step) {
    const auto at = [&](int us) { return std::to_string(1'000'000 + 1000 * step + us); };
    const std::string correlation = "\"correlation\": " + std::to_string(100 * step + 20);
    trace.events.push_back(
        complete_event("cuda_runtime", "cudaLaunchKernelExC", at(80), "5", "4711", "4711", correlation));
    trace.events.push_back(
        complete_event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", at(700),
                       "100", "0", "20",
                       R"("device": 0, "stream": 20, "Collective name": "allreduce", "dtype": "Float", )"
                       R"("In msg nelems": 1000, "Out msg nelems": 1000, "Group size": 2, )"
                       R"("Process Group Name": "0", "Process Group Ranks": "[0, 1]", )" +
                           correlation));
  }
  return trace;
}

TraceText stage(int rank) {
  TraceText trace = sound_steps(rank);
  for (std::string& event : trace.events)
    if (event.find("ncclDevKernel_AllReduce") != std::string::npos)
      event = replaced(replaced(event, "ncclDevKernel_AllReduce_Sum_f32", "ncclDevKernel_SendRecv"), "\"allreduce\"",
                       rank == 0 ? "\"send\"" : "\"recv\"");
  return trace;
}

// A forward alone, whose all-reduces have another kernel without recorded arguments.
TraceText inference(int rank, const std::string& kernel) {
  TraceText trace = sound_steps(rank);
  std::erase_if(trace.events, [](const std::string& event) { return event.find("autograd") != event.npos; });
  for (std::string& event : trace.events)
    if (event.find("ncclDevKernel_AllReduce") != std::string::npos) {
      const std::size_t from = event.find("\"Collective name\""), to = event.find("\"correlation\"");
      event.erase(from, to - from);
      event = replaced(event, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", kernel);
    }
  return trace;
}

struct Job {
  explicit Job(const std::vector<TraceText>& ranks, std::optional<std::int64_t> batch = {})
      : database(store::Database::create(folder.path() / "i.db")) {
    ImportOptions options;
    options.batch_per_worker = batch;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      options.files.push_back(folder.write("rank" + std::to_string(i) + ".json", ranks[i].text()));
    imported = import_into(database, options);
    EXPECT_EQ(imported.error, "");
    database.finish_load();
    not_predicted = fit_imports(database).no_prediction;
    const std::vector<metrics::Configuration> all = metrics::read_configurations(database.sql());
    configuration = all.at(0);
    no_rate = metrics::recorded_training(database.sql(), all).value().no_rate;
    for (const report::Table& table : report::build_report(database, report::answer_report).tables)
      for (const report::Row& row : table.rows)
        for (const report::Cell& cell : row)
          if (const auto* words = std::get_if<std::string>(&cell)) text += *words + "\n";
  }
  std::int64_t rows(const std::string& table) {
    SQLite::Statement query(database.sql(), "SELECT count(*) FROM " + table);
    query.executeStep();
    return query.getColumn(0).getInt64();
  }

  Folder folder;
  store::Database database;
  Imported imported;
  std::string not_predicted, no_rate, text;  // text: of the answer
  metrics::Configuration configuration;
};

TEST(DividedModels, TensorParallelRanksProcessTheSameSamples) {
  const Job job({tensor_parallel(0), tensor_parallel(1)});
  EXPECT_EQ(job.configuration.strategy, "other");
  EXPECT_EQ(job.configuration.global_batch(), 32);
  for (const metrics::RunStep& step : job.configuration.measured) EXPECT_EQ(step.samples, 32);
  EXPECT_EQ(job.imported.told.count("samples_of_replicas"), 1U);
  EXPECT_THAT(job.text, HasSubstr("32000 samples/s"));
  EXPECT_THAT(job.no_rate, HasSubstr("a step here has 32 samples: 1 data parallel replica on 2 ranks"));
}

// A micro-batch may send several messages, so the samples of a step are stated by the user: 128 on 2 ranks.
TEST(DividedModels, SamplesOfPipelineStagesAreUnknownUnlessGiven) {
  const Job unknown({stage(0), stage(1)});
  EXPECT_EQ(unknown.configuration.global_batch(), 0);
  for (const metrics::RunStep& step : unknown.configuration.measured) EXPECT_EQ(step.samples, 0);
  ASSERT_EQ(unknown.imported.told.count("samples_unknown"), 1U);
  EXPECT_THAT(unknown.text, Not(HasSubstr("samples/s")));
  EXPECT_THAT(unknown.no_rate, HasSubstr("the samples of a step are unknown"));
  const Job given({stage(0), stage(1)}, 64);
  EXPECT_EQ(given.configuration.global_batch(), 128);
  EXPECT_EQ(given.configuration.measured.at(0).samples, 128);
  EXPECT_EQ(given.imported.told.count("samples_unknown"), 0U);
}

TEST(DividedModels, DataParallelRanksProcessTheirOwnSamples) {
  const Job job({sound_steps(0), sound_steps(1)});
  EXPECT_EQ(job.configuration.global_batch(), 64);
  EXPECT_EQ(job.configuration.measured.at(0).samples, 64);
  EXPECT_EQ(job.imported.told.count("samples_of_replicas") + job.imported.told.count("samples_unknown"), 0U);
  EXPECT_EQ(job.no_rate, "");
}

// Kernels of FlashInfer and of AMD's QuickReduce, without c10d's calls: of each step 400 us compute, 50 us exposed.
TEST(Inference, HasCommunicationWhateverItsLibraryAndNoPredictionOrLearningRate) {
  for (const std::string kernel :
       {"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<...>(...)",
        "void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<__half>>(...)"}) {
    Job job({inference(0, kernel), inference(1, kernel)});
    EXPECT_EQ(job.configuration.strategy, "other") << kernel;
    EXPECT_NEAR(job.configuration.measured.at(0).exposed_s, 50e-6, 1e-9) << kernel;
    EXPECT_NEAR(job.configuration.measured.at(0).compute_s, 400e-6, 1e-9) << kernel;
    EXPECT_EQ(job.imported.told.count("no_backward"), 2U) << "of each rank";
    EXPECT_EQ(job.imported.told.count("samples_unknown"), 1U);
    EXPECT_THAT(job.not_predicted, HasSubstr("neither a backward nor an optimizer's step"));
    EXPECT_EQ(job.rows("fit"), 0) << "a fit without data would have a false reason";
    EXPECT_THAT(job.no_rate, HasSubstr("so there is no learning rate"));
    EXPECT_THAT(job.text, AllOf(HasSubstr("5.00 % exposed communication"), HasSubstr("neither a backward")));
  }
}

TEST(Inference, OfOneProcessHasItsThroughput) {
  TraceText trace = inference(0, "gemm");
  std::erase_if(trace.before, [](const std::string& member) { return member.find("distributedInfo") != member.npos; });
  const Job job({trace});
  EXPECT_EQ(job.configuration.strategy, "other");
  EXPECT_EQ(job.configuration.measured.at(0).samples, 32);
  EXPECT_THAT(job.no_rate, HasSubstr("so there is no learning rate"));
  EXPECT_THAT(job.text, HasSubstr("32000 samples/s"));
}

}  // namespace
}  // namespace ddpprof::import
