// Tables and columns of several versions.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/analysis/import/nsight/export_file.hpp"

namespace ddpprof::import::nsight_test {
namespace {

using testing::HasSubstr;

class EveryVersion : public testing::TestWithParam<Version> {};

TEST_P(EveryVersion, GivesTheSameFigures) {
  Export file(GetParam());
  for (std::int64_t i = 0; i < 3; ++i) {
    file.range({.start_ns = 1000 * i, .end_ns = 1000 * i + 900, .name = "step " + std::to_string(i), .by_id = i == 1});
    file.call(1000 * i + 10, 1000 * i + 20, i);
    file.kernel({.start_ns = 1000 * i + 100, .end_ns = 1000 * i + 400, .correlation = i});
    file.copy(1000 * i + 500, 1000 * i + 600);
  }
  const std::vector<ReadRank> ranks = read(file.done());
  ASSERT_EQ(ranks.size(), 1U);
  EXPECT_EQ(whole(ranks[0]).compute_ns, 900);
  EXPECT_EQ(whole(ranks[0]).memory_ns, 300);
  EXPECT_EQ(ranks[0].training.shard.steps.size(), 3U);
  EXPECT_EQ(note_count(ranks[0], "launch_unknown"), 3);  // the copies, which were written without a correlation
  EXPECT_EQ(find_note(ranks[0], "process_unknown") != nullptr, GetParam() == Version::v2019);
  ASSERT_EQ(ranks[0].kernels.size(), 2U);
}
INSTANTIATE_TEST_SUITE_P(Schemas, EveryVersion,
                         testing::Values(Version::v2019, Version::v2021, Version::v2023, Version::v2025));

TEST(NsightSchemas, OnlyKernelsIsEnoughAndWhatIsMissingIsSaid) {
  Export file;
  file.kernel({.start_ns = 0, .end_ns = 100});
  for (const char* table : {"RUNTIME", "MEMCPY"}) file.run(std::string("DROP TABLE CUPTI_ACTIVITY_KIND_") + table);
  file.run("DROP TABLE NVTX_EVENTS");
  const std::vector<ReadRank> ranks = read(file.done());
  EXPECT_EQ(whole(ranks.at(0)).compute_ns, 100);
  EXPECT_THAT(note(ranks[0], "table_missing"), HasSubstr("CUPTI_ACTIVITY_KIND_RUNTIME"));
  EXPECT_THAT(note(ranks[0], "table_missing"), HasSubstr("NVTX_EVENTS"));
  EXPECT_NE(note(ranks[0], "no_steps"), "");
}

TEST(NsightSchemas, TheDriversCallsMayHaveATableOfTheirOwn) {
  Export file(Version::v2021);
  file.kernel({.start_ns = 100, .end_ns = 200, .correlation = 4});
  file.run(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_DRIVER (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, "
      "nameId INTEGER)");
  file.run("INSERT INTO CUPTI_ACTIVITY_KIND_DRIVER VALUES (10, 20, " + std::to_string(thread_id(100, 100)) + ", 4, " +
           std::to_string(file.string("cuLaunchKernel")) + ")");
  EXPECT_EQ(note(read(file.done()).at(0), "launch_unknown"), "");
}

TEST(NsightSchemas, ShortNamesAreEnough) {
  Export file;
  file.kernel({.start_ns = 0, .end_ns = 100, .name = "ncclKernel_AllReduce_RING_LL_Sum_float"});
  file.run("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN demangledName");
  const std::vector<ReadRank> ranks = read(file.done());
  EXPECT_EQ(whole(ranks.at(0)).collective_kernels, 1);
  EXPECT_EQ(ranks[0].kernels.at(0).name, "ncclKernel_AllReduce_RING_LL_Sum_float");
}

TEST(NsightSchemas, TextsWithoutAKeyAreFoundAllTheSame) {
  Export file;
  file.kernel({.start_ns = 0, .end_ns = 100, .name = "the_kernel"});
  file.run(
      "CREATE TABLE Copy (id INTEGER, value TEXT); INSERT INTO Copy SELECT * FROM StringIds; DROP TABLE StringIds; "
      "ALTER TABLE Copy RENAME TO StringIds");
  EXPECT_EQ(read(file.done()).at(0).kernels.at(0).name, "the_kernel");
}

TEST(NsightSchemas, EventTypesAreThoseThatTheFileNames) {
  Export file;
  file.run("UPDATE ENUM_NSYS_EVENT_TYPE SET id = 159 WHERE id = 59");
  file.kernel({.start_ns = 0, .end_ns = 3000});
  for (std::int64_t i = 0; i < 3; ++i)
    file.range({.start_ns = 1000 * i, .end_ns = 1000 * i + 900, .name = "step " + std::to_string(i), .type = 159});
  file.range({.start_ns = 0, .end_ns = 3000, .name = "iteration 7", .type = 59});
  const std::vector<ReadRank> ranks = read(file.done());
  EXPECT_EQ(ranks.at(0).training.source, StepSource::annotations);
  EXPECT_EQ(ranks[0].training.device_times.size(), 1U + 3U);
}

TEST(NsightSchemas, AFileInAFolderThatMayNotBeWrittenIsRead) {
  Export file;
  file.kernel({.start_ns = 0, .end_ns = 100});
  file.run("PRAGMA journal_mode = WAL");
  file.done();
  const std::filesystem::path folder = file.path().string() + " odd?#%d";
  std::filesystem::create_directory(folder);
  const std::filesystem::path copy = folder / "a b.sqlite";
  std::filesystem::copy_file(file.path(), copy);
  chmod(copy.c_str(), 0400);
  chmod(folder.c_str(), 0500);
  const std::vector<ReadRank> ranks = read(copy);
  EXPECT_EQ(whole(ranks.at(0)).compute_ns, 100);
  chmod(folder.c_str(), 0700);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++files;
  EXPECT_EQ(files, 1U);
  std::filesystem::remove_all(folder);
}

TEST(NsightSchemas, WhatIsStillInTheLogIsReadToo) {
  Export file;
  file.run("PRAGMA journal_mode = WAL");
  file.run("PRAGMA wal_autocheckpoint = 0");
  file.kernel({.start_ns = 0, .end_ns = 100});
  // Not closed: the row is still in the log beside the file.
  ASSERT_TRUE(std::filesystem::exists(file.path().string() + "-wal"));
  EXPECT_EQ(whole(read(file.path()).at(0)).compute_ns, 100);
}

}  // namespace
}  // namespace ddpprof::import::nsight_test
