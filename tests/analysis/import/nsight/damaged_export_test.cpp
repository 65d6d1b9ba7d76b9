// Files that are not exports, and damaged exports: the sound part is imported, the rest is counted with its table and
// row.
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <random>

#include "tests/analysis/import/nsight/export_file.hpp"

namespace ddpprof::import::nsight_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Ten valid kernels of 100 ns each.
void add_sound(Export& file) {
  for (std::int64_t i = 0; i < 10; ++i) file.kernel({.start_ns = 1000 * i, .end_ns = 1000 * i + 100, .correlation = i});
}

std::string insert_kernel(const std::string& start, const std::string& end, const std::string& device,
                          const std::string& process = std::to_string(process_id(100)), const std::string& name = "1") {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, globalPid, streamId, demangledName, shortName) "
         "VALUES (" +
         start + ", " + end + ", " + device + ", " + process + ", 7, " + name + ", " + name + ")";
}

TEST(DamagedExport, AnotherDatabaseIsRefused) {
  Export file;
  file.run("DROP TABLE StringIds");
  EXPECT_THAT(error_of(file.done()), AllOf(HasSubstr("not an export of Nsight Systems"), HasSubstr("nsys export")));
}

TEST(DamagedExport, AnEmptyFileIsRefused) {
  Export file;
  file.done();
  std::filesystem::resize_file(file.path(), 0);
  EXPECT_THAT(error_of(file.path()), HasSubstr("the file is empty"));
}

TEST(DamagedExport, AFileOfAHeaderAloneIsRefused) {
  for (const std::uintmax_t bytes : {20, 99, 100, 512}) {
    Export file;
    add_sound(file);
    file.done();
    std::filesystem::resize_file(file.path(), bytes);
    EXPECT_NE(error_of(file.path()), "") << bytes;
  }
}

TEST(DamagedExport, TextThatIsNoDatabaseIsRefused) {
  Export file;
  file.done();
  std::ofstream(file.path()) << "start,end\n1,2\n";
  EXPECT_THAT(error_of(file.path()), HasSubstr("not an SQLite database"));
}

TEST(DamagedExport, TablesWithoutRowsAreNothingToImport) {
  Export file;
  EXPECT_THAT(error_of(file.done()), HasSubstr("no valid kernel"));
}

TEST(DamagedExport, WithoutKernelsThereIsNoRank) {
  Export file;
  file.range({.start_ns = 0, .end_ns = 10, .name = "step 1"});
  file.run("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL");
  EXPECT_THAT(error_of(file.done()), HasSubstr("no valid kernel"));
}

struct BadRow {
  const char* start;
  const char* end;
  const char* device;
  const char* why;
};
class BadKernel : public testing::TestWithParam<BadRow> {};

TEST_P(BadKernel, IsLeftOutAndCounted) {
  const BadRow& row = GetParam();
  Export file;
  add_sound(file);
  for (int i = 0; i < 3; ++i) file.run(insert_kernel(row.start, row.end, row.device));
  const std::vector<ReadRank> ranks = read(file.done());
  ASSERT_EQ(ranks.size(), 1U);
  EXPECT_EQ(whole(ranks[0]).compute_ns, 1000);
  EXPECT_EQ(note_count(ranks[0], "bad_event"), 3);
  EXPECT_THAT(note(ranks[0], "bad_event"),
              AllOf(HasSubstr("CUPTI_ACTIVITY_KIND_KERNEL"), HasSubstr(row.why), HasSubstr("row 11")));
}
INSTANTIATE_TEST_SUITE_P(
    Rows, BadKernel,
    testing::Values(BadRow{"NULL", "5", "0", "without a start"}, BadRow{"5", "NULL", "0", "without an end"},
                    BadRow{"500", "400", "0", "end before its start"}, BadRow{"5", "10", "NULL", "without its device"},
                    BadRow{"5", "10", "-3", "without its device"}, BadRow{"'soon'", "10", "0", "without a start"},
                    BadRow{"1.5", "10", "0", "without a start"},
                    BadRow{"5", "9223372036854775807", "0", "impossible time"}));

TEST(DamagedExport, AKernelOfNoProcessIsLeftOut) {
  Export file;
  add_sound(file);
  file.run(insert_kernel("5", "10", "0", "NULL"));
  const std::vector<ReadRank> ranks = read(file.done());
  ASSERT_EQ(ranks.size(), 1U);
  EXPECT_THAT(note(ranks[0], "bad_event"), HasSubstr("without its process"));
}

TEST(DamagedExport, AKernelWhoseNameIsNotThereCountsAllTheSame) {
  Export file;
  add_sound(file);
  file.run(insert_kernel("20000", "20500", "0", std::to_string(process_id(100)), "4711"));
  file.run(insert_kernel("21000", "21500", "0", std::to_string(process_id(100)), "NULL"));
  const std::vector<ReadRank> ranks = read(file.done());
  EXPECT_EQ(whole(ranks.at(0)).compute_ns, 2000);
  EXPECT_EQ(note_count(ranks[0], "bad_event"), 2);
  EXPECT_THAT(note(ranks[0], "bad_event"), HasSubstr("text is not in the file"));
}

TEST(DamagedExport, BadCallsCopiesAndRangesAreToldByTheirTable) {
  Export file;
  add_sound(file);
  file.copy(900, 800);
  file.call(900, 800, 1);
  file.range({.start_ns = 900, .end_ns = 800, .name = "step 3"});
  file.run("INSERT INTO NVTX_EVENTS (start, end, eventType, text) VALUES (1, 2, 59, 'step 4')");
  file.run("INSERT INTO NVTX_EVENTS (start, end, eventType, textId, globalTid) VALUES (1, 2, 59, 999, " +
           std::to_string(thread_id(100, 100)) + ")");
  const std::vector<ReadRank> ranks = read(file.done());
  std::string all;
  for (const Note& note : ranks.at(0).notes) all += note.message + "\n";
  EXPECT_THAT(all, AllOf(HasSubstr("CUPTI_ACTIVITY_KIND_MEMCPY: an end before its start (the first at row 1)"),
                         HasSubstr("CUPTI_ACTIVITY_KIND_RUNTIME: an end before its start (the first at row 1)"),
                         HasSubstr("NVTX_EVENTS: an end before its start (the first at row 1)"),
                         HasSubstr("NVTX_EVENTS: an event without its thread (the first at row 2)"),
                         HasSubstr("NVTX_EVENTS: a range whose name is not in the file (the first at row 3)")));
  EXPECT_EQ(whole(ranks[0]).compute_ns, 1000);
}

TEST(DamagedExport, OfATruncatedFileTheFirstRowsAreImported) {
  Export file;
  for (std::int64_t i = 0; i < 20'000; ++i)
    file.kernel({.start_ns = 1000 * i, .end_ns = 1000 * i + 100, .correlation = i});
  file.done();
  std::filesystem::resize_file(file.path(), std::filesystem::file_size(file.path()) / 2);
  const std::vector<ReadRank> ranks = read(file.path());
  ASSERT_EQ(ranks.size(), 1U);
  EXPECT_GT(whole(ranks[0]).kernels, 1000);
  EXPECT_LT(whole(ranks[0]).kernels, 20'000);
  EXPECT_NE(note(ranks[0], "truncated"), "");
  EXPECT_THAT(note(ranks[0], "file_damaged"), HasSubstr("CUPTI_ACTIVITY_KIND_KERNEL"));
}

TEST(DamagedExport, OfATruncatedListOfTablesTheFirstOnesAreRead) {
  Export file;
  add_sound(file);
  for (std::int64_t i = 0; i < 2000; ++i) file.copy(1000 * i + 200, 1000 * i + 300);
  // Their declarations need pages of their own, after all other pages.
  for (int i = 0; i < 40; ++i)
    file.run("CREATE TABLE LATER_" + std::to_string(i) + " (a INTEGER /* " + std::string(400, 'x') + " */)");
  file.done();
  std::filesystem::resize_file(file.path(), std::filesystem::file_size(file.path()) - 20 * 4096);
  const std::vector<ReadRank> ranks = read(file.path());
  EXPECT_EQ(whole(ranks.at(0)).compute_ns, 1000);
  EXPECT_EQ(whole(ranks[0]).copies, 2000);
  EXPECT_THAT(note(ranks[0], "file_damaged"), HasSubstr("list of tables"));
}

TEST(DamagedExport, OverwrittenPagesEndTheirTableOnly) {
  Export file;
  for (std::int64_t i = 0; i < 5000; ++i)
    file.kernel({.start_ns = 1000 * i, .end_ns = 1000 * i + 100, .correlation = i});
  for (std::int64_t i = 0; i < 50; ++i) file.copy(1000 * i + 200, 1000 * i + 300);
  file.done();
  const std::uintmax_t bytes = std::filesystem::file_size(file.path());
  {
    std::fstream io(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    io.seekp(static_cast<std::streamoff>(bytes / 4096 / 2 * 4096));
    io << std::string(4096, '\xff');
  }
  const std::vector<ReadRank> ranks = read(file.path());
  EXPECT_GT(whole(ranks.at(0)).kernels, 100);
  EXPECT_LT(whole(ranks[0]).kernels, 5000);
  EXPECT_EQ(whole(ranks[0]).copies, 50);
  EXPECT_THAT(note(ranks[0], "file_damaged"), HasSubstr("as far as its row"));
}

TEST(DamagedExport, AnyDamageIsAnErrorOrAPartNeverMore) {
  Export file;
  file.nccl_schemas();
  for (std::int64_t i = 0; i < 300; ++i) {
    file.kernel({.start_ns = 1000 * i, .end_ns = 1000 * i + 100, .correlation = i, .name = "ncclDevKernel_AllReduce"});
    file.call(1000 * i - 50, 1000 * i - 40, i);
    file.range({.start_ns = 1000 * i - 60,
                .end_ns = 1000 * i - 10,
                .name = "ncclAllReduce",
                .domain = 1,
                .binary = Export::all_reduce(9, 4096)});
    file.range({.start_ns = 1000 * i - 70, .end_ns = 1000 * i + 500, .name = "step " + std::to_string(i)});
  }
  file.done();
  std::ifstream in(file.path(), std::ios::binary);
  const std::string sound((std::istreambuf_iterator<char>(in)), {});
  std::mt19937 random(7);
  int imported = 0;
  for (int round = 0; round < 200; ++round) {
    std::string damaged = sound;
    if (round % 2 == 0) damaged.resize(random() % sound.size());
    for (int k = 0; k < round % 20 && !damaged.empty(); ++k)
      damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    const std::filesystem::path path = file.path().string() + ".damaged";
    std::ofstream(path, std::ios::binary) << damaged;
    try {
      for (const ReadRank& rank : read(path)) EXPECT_LE(whole(rank).collective_kernels + whole(rank).kernels, 300);
      ++imported;
    } catch (const ImportError& error) {
      EXPECT_THAT(error.what(), HasSubstr("damaged: "));
    }
    std::filesystem::remove(path);
  }
  EXPECT_GT(imported, 50);
}

TEST(DamagedExport, SizesOfLaunchesThatCannotBeAreCounted) {
  Export file;
  add_sound(file);
  file.run(
      "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET gridX = 9000000000000000000, gridY = 9000000000000000000, gridZ = 3, "
      "staticSharedMemory = 9223372036854775807, dynamicSharedMemory = 9223372036854775807, registersPerThread = "
      "-4 WHERE rowid = 3");
  file.run("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET streamId = 99999999999 WHERE rowid = 4");
  const std::vector<ReadRank> ranks = read(file.done());
  EXPECT_EQ(whole(ranks.at(0)).kernels, 10);
  EXPECT_EQ(whole(ranks[0]).compute_ns, 1000);
  std::map<std::string, std::int64_t> counts;
  for (const Note& one : ranks[0].notes)
    if (one.code == "bad_event") counts[one.message] += one.count;
  EXPECT_THAT(counts, testing::UnorderedElementsAre(
                          testing::Pair(AllOf(HasSubstr("an invalid size"), HasSubstr("at row 3")), 4),
                          testing::Pair(AllOf(HasSubstr("an invalid stream number"), HasSubstr("at row 4")), 1)));
}

// Sums of kernels of the longest accepted length do not overflow.
TEST(DamagedExport, ManyOfTheLongestKernelsAddUp) {
  Export file;
  for (std::int64_t i = 0; i < 300; ++i)
    file.kernel({.start_ns = i, .end_ns = i + (std::int64_t{1} << 56), .stream = i});
  file.kernel({.start_ns = 0, .end_ns = (std::int64_t{1} << 56) + 1, .stream = 7});
  const std::vector<ReadRank> ranks = read(file.done());
  EXPECT_EQ(note_count(ranks.at(0), "bad_event"), 1);
  EXPECT_EQ(whole(ranks[0]).compute_ns, (std::int64_t{1} << 56) + 299);
  EXPECT_GE(ranks[0].kernels.at(0).totals.total_ns, std::int64_t{1} << 61);
}

}  // namespace
}  // namespace ddpprof::import::nsight_test
