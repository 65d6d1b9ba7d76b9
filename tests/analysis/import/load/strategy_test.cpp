// Which trainings an import classifies as data parallel, and the notes about the others.
#include <gmock/gmock.h>

#include "tests/analysis/import/kineto/trace_text.hpp"
#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {
namespace {

using testing::HasSubstr;

struct Outcome {
  std::string strategy;
  std::multimap<std::string, Told> told;
};

Outcome outcome(const std::vector<std::string>& texts) {
  const Folder folder;
  std::vector<std::filesystem::path> files;
  for (std::size_t i = 0; i < texts.size(); ++i)
    files.push_back(folder.write("rank" + std::to_string(i) + ".json", texts[i]));
  const Imported imported = import_files(folder, files);
  EXPECT_EQ(imported.error, "");
  store::Database database = store::Database::open_read(folder.path() / "imported.db");
  SQLite::Statement query(database.sql(), "SELECT strategy FROM measurement");
  return {query.executeStep() ? query.getColumn(0).getString() : "", imported.told};
}

// Replaces every all-reduce of both ranks by another operation, in the kernel's name and in the recorded name.
std::string with_operation(int rank, const std::string& kernel, const std::string& recorded) {
  TraceText trace = sound_trace(rank, 2);
  for (std::string& event : trace.events)
    if (event.find("ncclDevKernel_AllReduce") != std::string::npos)
      event = replaced(replaced(event, "ncclDevKernel_AllReduce_Sum_f32", kernel), "\"allreduce\"", recorded);
  return trace.text();
}

TEST(ImportedStrategy, GradientsReducedAreDdp) {
  const Outcome found = outcome({sound_trace(0, 2).text(), sound_trace(1, 2).text()});
  EXPECT_EQ(found.strategy, "ddp");
  EXPECT_EQ(found.told.count("not_data_parallel"), 0U);
}

TEST(ImportedStrategy, SendsBetweenRanksAreNot) {
  const Outcome found = outcome({with_operation(0, "ncclDevKernel_SendRecv", "\"send\""),
                                 with_operation(1, "ncclDevKernel_SendRecv", "\"recv\"")});
  EXPECT_EQ(found.strategy, "other");
  ASSERT_EQ(found.told.count("not_data_parallel"), 2U) << "each rank has its own evidence";
  EXPECT_EQ(found.told.count("no_gradient_buckets"), 0U) << "no further note";
  const auto told = found.told.equal_range("not_data_parallel");
  EXPECT_THAT(told.first->second.message, HasSubstr("3 sends"));
  EXPECT_THAT(std::next(told.first)->second.message, HasSubstr("3 receives"));
}

TEST(ImportedStrategy, OneStageOfSeveralRanksIsEnough) {
  const Outcome found = outcome({sound_trace(0, 2).text(), with_operation(1, "ncclDevKernel_SendRecv", "\"send\"")});
  EXPECT_EQ(found.strategy, "other");
}

TEST(ImportedStrategy, ShardedByItsAnnotations) {
  TraceText trace = sound_trace(0, 2);
  trace.events.push_back(
      complete_event("user_annotation", "FullyShardedDataParallel.forward", "1000010", "100", "4711", "4711"));
  const Outcome found = outcome({trace.text()});
  EXPECT_EQ(found.strategy, "sharded");
  EXPECT_EQ(found.told.count("sharded_data_parallel"), 1U);
}

TEST(ImportedStrategy, OneProcessOnTwoDevices) {
  TraceText trace = sound_trace(0, 1);
  std::erase_if(trace.before, [](const std::string& member) { return member.find("distributedInfo") != member.npos; });
  for (std::string& event : trace.events) {
    if (event.find("ncclDevKernel_AllReduce") != std::string::npos)
      event = replaced(replaced(event, "ncclDevKernel_AllReduce_Sum_f32", "ncclDevKernel_Broadcast_Sum_f32"),
                       R"("Collective name": "allreduce", )", "");
    if (event.find("\"gemm\"") != std::string::npos && event.find("2}}") != std::string::npos)
      event = replaced(event, "\"device\": 0", "\"device\": 1");
  }
  const Outcome found = outcome({trace.text()});
  EXPECT_EQ(found.strategy, "other");
  ASSERT_EQ(found.told.count("not_data_parallel"), 1U);
  EXPECT_THAT(found.told.find("not_data_parallel")->second.message, HasSubstr("computed on 2 devices"));
}

TEST(ImportedStrategy, OneDeviceAloneStaysTheBase) {
  TraceText trace = sound_trace(0, 1);
  std::erase_if(trace.before, [](const std::string& member) { return member.find("distributedInfo") != member.npos; });
  std::erase_if(trace.events, [](const std::string& event) { return event.find("nccl") != event.npos; });
  EXPECT_EQ(outcome({trace.text()}).strategy, "ddp");
}

TEST(ImportedStrategy, OneOfTwoRanksThatExchangedNothingIsNot) {
  TraceText trace = sound_trace(0, 2);
  std::erase_if(trace.events, [](const std::string& event) { return event.find("nccl") != event.npos; });
  const Outcome found = outcome({trace.text()});
  EXPECT_EQ(found.strategy, "other");
  EXPECT_THAT(found.told.find("not_data_parallel")->second.message, HasSubstr("rank 0 of 2 exchanged nothing"));
}

}  // namespace
}  // namespace ddpprof::import
