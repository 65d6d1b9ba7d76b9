// Jobs whose whole step is a replay of one CUDA graph: the host launches the graph and runs no operations.
#include <gmock/gmock.h>

#include "analysis/fit/not_supported.hpp"
#include "analysis/import/files/import_files.hpp"
#include "analysis/predict/predict.hpp"
#include "analysis/report/report.hpp"
#include "tests/analysis/import/kineto/trace_text.hpp"
#include "tests/analysis/import/load/imported.hpp"
#include "tests/analysis/import/nsight/export_file.hpp"

namespace ddpprof::import {
namespace {

using nsight_test::Export;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct ImportedGraphs {
  explicit ImportedGraphs(const std::vector<std::filesystem::path>& files)
      : database(store::Database::create(folder.path() / "g.db")) {
    ImportOptions options;
    options.files = files;
    options.parameter_bytes = 4 << 20;
    imported = import_into(database, options);
    database.finish_load();
    fit_imports(database);
  }
  std::string message(const std::string& code) const {
    const auto found = imported.told.find(code);
    return found == imported.told.end() ? "" : found->second.message;
  }
  std::string answer() {
    std::string text;
    for (const report::Table& table : report::build_report(database, report::answer_report).tables)
      for (const report::Row& row : table.rows)
        for (const report::Cell& cell : row)
          if (const auto* words = std::get_if<std::string>(&cell)) text += *words + "\n";
    return text;
  }
  report::Cell exposed() {
    const report::Report all = report::build_report(database, "phases");
    return report::cell_of(all.tables.at(0), all.tables[0].rows.at(0), "exposed_s");
  }

  Folder folder;
  store::Database database;
  Imported imported;
};

// Processes 100, 101, …, each with its own device: steps of 10 us, of which a graph runs for 8 us. `reduces`: an
// all-reduce of 1 us follows each graph; `phases`: it is inside of a range "backward".
struct GraphExport {
  std::int64_t ranks = 2;
  bool kernels = true, reduces = false, phases = false;

  void write(Export& file) const {
    file.run(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, globalPid "
        "INTEGER, "
        "streamId INTEGER, correlationId INTEGER)");
    for (std::int64_t rank = 0; rank < ranks; ++rank)
      for (std::int64_t step = 0; step < 6; ++step) {
        const std::int64_t at = 10'000 * (step + 1), pid = 100 + rank, call = 10 * step;
        file.range(
            {.start_ns = at, .end_ns = at + 9'900, .name = "step " + std::to_string(step), .pid = pid, .tid = pid});
        file.call(at + 20, at + 60, call, pid, pid);
        if (kernels)
          file.kernel({.start_ns = at + 30, .end_ns = at + 90, .device = rank, .pid = pid, .correlation = call + 1});
        file.run("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (" + std::to_string(at + 100) + ", " +
                 std::to_string(at + 8'100) + ", " + std::to_string(rank) + ", " +
                 std::to_string(nsight_test::process_id(pid)) + ", 7, " + std::to_string(call) + ")");
        if (phases) {
          file.range({.start_ns = at + 10, .end_ns = at + 70, .name = "forward", .pid = pid, .tid = pid});
          file.range({.start_ns = at + 70, .end_ns = at + 9'500, .name = "backward", .pid = pid, .tid = pid});
        }
        if (!reduces) continue;
        file.call(at + 7'000, at + 7'010, call + 2, pid, pid);
        file.kernel({.start_ns = at + 8'200,
                     .end_ns = at + 9'200,
                     .device = rank,
                     .pid = pid,
                     .stream = 20,
                     .correlation = call + 2,
                     .name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"});
      }
  }
};

TEST(ReplayedGraphs, RecordedAsAWholeHideTheCommunicationOfSeveralRanks) {
  for (const bool kernels : {true, false}) {
    Export file;
    GraphExport{.kernels = kernels}.write(file);
    ImportedGraphs found({file.done()});
    EXPECT_EQ(found.imported.error, "");
    EXPECT_EQ(found.imported.result.world_size, 2) << kernels;
    EXPECT_THAT(found.message("collective_kernels_unknown"), HasSubstr("graphs of 2 ranks were recorded as a whole"));
    EXPECT_EQ(found.exposed(), report::Cell());
    EXPECT_THAT(found.answer(), AllOf(Not(HasSubstr("exposed transfer")), HasSubstr("recorded as a whole")));
    fit::PredictOptions options;
    options.workers = {8};
    EXPECT_THROW(fit::predict_all(found.database, options), fit::NotSupported);
  }
}

TEST(ReplayedGraphs, AnAllReduceBesideThemIsNotAllCommunicationUnlessItReducesTheGradients) {
  for (const bool phases : {false, true}) {
    Export file;
    GraphExport{.reduces = true, .phases = phases}.write(file);
    ImportedGraphs found({file.done()});
    EXPECT_EQ(found.imported.error, "");
    EXPECT_EQ(found.message("collective_kernels_unknown").empty(), phases);
    EXPECT_EQ(found.exposed() == report::Cell(), !phases);
    EXPECT_NE(found.message("graphs_as_a_whole"), "");
  }
}

TEST(ReplayedGraphs, OneRankComputesAndIsNotPredicted) {
  Export file;
  GraphExport{.ranks = 1}.write(file);
  ImportedGraphs found({file.done()});
  EXPECT_EQ(found.message("collective_kernels_unknown"), "");
  EXPECT_THAT(found.answer(), HasSubstr("replays of CUDA graphs"));
}

// Two ranks whose kernels and all-reduces of a graph were recorded, all with the correlation of the graph's launch: a
// step of 1000 us computes for 600 us and all-reduces for 300 us, of which compute hides 100 us.
TEST(ReplayedGraphs, RecordedKernelByKernelHaveExposedCommunicationAndNoPrediction) {
  const Folder folder;
  std::vector<std::filesystem::path> files;
  for (int rank = 0; rank < 2; ++rank) {
    TraceText trace;
    const std::string process = std::to_string(100 + rank);
    trace.before = {
        R"("schemaVersion": 1)", R"("deviceProperties": [{"id": 0, "name": "NVIDIA A100"}])",
        R"("distributedInfo": {"backend": "nccl", "rank": )" + std::to_string(rank) + R"(, "world_size": 2})"};
    for (int step = 0; step < 8; ++step) {
      const auto at = [&](int us) { return std::to_string(1'000'000 + 1000 * step + us); };
      const std::string launch = "\"correlation\": " + std::to_string(10 + step);
      trace.events.push_back(complete_event("user_annotation", "ProfilerStep#" + std::to_string(step), at(0), "999",
                                            process, process, "\"External id\": " + std::to_string(step + 1)));
      trace.events.push_back(complete_event("cuda_runtime", "cudaGraphLaunch", at(10), "20", process, process, launch));
      trace.events.push_back(
          complete_event("kernel", "sgemm", at(100), "600", "0", "7", R"("device": 0, "stream": 7, )" + launch));
      trace.events.push_back(complete_event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at(600), "300", "0",
                                            "20", R"("device": 0, "stream": 20, )" + launch));
    }
    files.push_back(folder.write("rank" + std::to_string(rank) + ".json", trace.text()));
  }
  ImportedGraphs found(files);
  EXPECT_EQ(found.imported.error, "");
  EXPECT_NEAR(std::get<double>(found.exposed()), 200e-6, 1e-9);
  EXPECT_THAT(found.answer(),
              AllOf(HasSubstr("exposed transfer"), HasSubstr("replays of CUDA graphs"), HasSubstr("N = 4")));
}

}  // namespace
}  // namespace ddpprof::import
