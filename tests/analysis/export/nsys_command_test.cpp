// ddpprof export --format nsys, from the command line.
#include <gmock/gmock.h>

#include "tests/analysis/export/nsys_recorded.hpp"
#include "tests/cli/command_line.hpp"

namespace ddpprof::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

using NsysCommand = CommandLine;

TEST_F(NsysCommand, OneMeasurementGivesAFileAndSeveralAFolder) {
  const std::string one = (folder_ / "one.db").string(), file = (folder_ / "one.sqlite").string();
  { recorded_training(one); }
  const Outcome alone = run_ddpprof({"export", one, "--format", "nsys", "--out", file});
  EXPECT_EQ(alone.code, 0) << alone.messages;
  EXPECT_EQ(alone.messages, "ddpprof export: 21 events in " + file + "\n");
  EXPECT_TRUE(fs::is_regular_file(file));
  const std::string several = (folder_ / "several").string();
  const Outcome many = run_ddpprof({"export", database_, "--format", "nsys", "--out", several});
  EXPECT_EQ(many.code, 0) << many.messages;
  EXPECT_THAT(many.messages, HasSubstr("one file for each of 5 measurements; kernels were not recorded, so the file has ranges only"));
  EXPECT_TRUE(fs::is_regular_file(fs::path(several) / "dp-n2-r0.sqlite"));
}

TEST_F(NsysCommand, AnExportIsReplacedInPlaceAndIsWholeAgain) {
  const std::string folder = (folder_ / "again").string(), damaged = folder + "/dp-n2-r0.sqlite";
  ASSERT_EQ(run_ddpprof({"export", database_, "--format", "nsys", "--out", folder}).code, 0);
  const std::string whole = read_all(damaged);
  SQLite::Database(damaged, SQLite::OPEN_READWRITE).exec("DELETE FROM NVTX_EVENTS");
  ASSERT_NE(read_all(damaged), whole);
  Outcome again = run_ddpprof({"export", database_, "--format", "nsys", "--out", folder});
  EXPECT_EQ(again.code, 0) << again.messages;
  EXPECT_TRUE(read_all(damaged) == whole);
  // A Chrome export does not overwrite an nsys export, and a file with an SQLite log beside it is not overwritten.
  EXPECT_EQ(run_ddpprof({"export", database_, "--format", "chrome", "--out", damaged}).code, 2);
  std::ofstream(damaged + "-wal") << "x";
  again = run_ddpprof({"export", database_, "--format", "nsys", "--out", folder});
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.messages, HasSubstr("dp-n2-r0.sqlite has a journal: another program writes it"));
  EXPECT_TRUE(read_all(damaged) == whole);
}

TEST_F(NsysCommand, NoDatabaseAndNoFolderIsReplaced) {
  const std::string one = (folder_ / "guarded.db").string();
  { recorded_training(one); }
  const auto size = fs::file_size(one);
  for (const std::string& out :
       {one, one + ".d", database_, folder_.string(), std::string("/no/such/folder/x.sqlite")}) {
    const Outcome refused = run_ddpprof({"export", one, "--format", "nsys", "--out", out});
    EXPECT_EQ(refused.code, 2) << out;
    EXPECT_THAT(refused.messages, HasSubstr("--out")) << out;
  }
  EXPECT_EQ(fs::file_size(one), size);
  EXPECT_THAT(left_behind(folder_), testing::IsEmpty());
  // Several measurements: the output is a folder, not a file; a database in the folder stays.
  EXPECT_EQ(run_ddpprof({"export", database_, "--format", "nsys", "--out", one}).code, 2);
  EXPECT_EQ(run_ddpprof({"export", database_, "--format", "nsys", "--out", database_ + ".d"}).code, 2);
  const fs::path taken = folder_ / "taken";
  fs::create_directory(taken);
  fs::copy_file(one, taken / "dp-n2-r0.sqlite");
  const Outcome refused = run_ddpprof({"export", database_, "--format", "nsys", "--out", taken.string()});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.messages, HasSubstr("dp-n2-r0.sqlite is a database and is not replaced"));
  EXPECT_FALSE(fs::exists(taken / "ddp-n1-r0.sqlite")) << "nothing is written before all is checked";
  EXPECT_NE(run_ddpprof({"export", (folder_ / "empty.db").string(), "--format", "nsys", "--out",
                         (folder_ / "empty.sqlite").string()})
                .code,
            0);
}

}  // namespace
}  // namespace ddpprof::test
