// Which files and folders are recognized as exports of ddpprof.
#include "analysis/import/load/own_export.hpp"

#include <gtest/gtest.h>

#include "tests/analysis/import/bytes/packed.hpp"
#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {
namespace {

TEST(OwnExport, AChromeTraceByItsMarkerBeforeTheFirstEvent) {
  const Folder folder;
  const auto is_ours = [&](const std::string& text) { return is_own_export(folder.write("file.json", text)); };
  EXPECT_TRUE(is_ours(R"({"ddpprof":{"format":1}})"));
  EXPECT_TRUE(is_ours(gzipped(R"({"ddpprof":{"format":1}})")));
  EXPECT_TRUE(is_ours("\xEF\xBB\xBF { \"ddpprof\" : { } }"));
  EXPECT_TRUE(is_ours(R"({"baseTimeNanoseconds":0,"ddpprof":{}})"));
  EXPECT_FALSE(is_ours(R"({"traceEvents":[{"ddpprof":{}}],"ddpprof":{}})"));
  EXPECT_FALSE(is_ours(R"({"program":"ddpprof","a":{}})"));
  EXPECT_FALSE(is_ours(R"({"ddpprof":1})"));
  EXPECT_FALSE(is_ours(R"([{"ddpprof":{}}])"));
  EXPECT_FALSE(is_ours(""));
}

TEST(OwnExport, AFolderOfCsvTablesByItsTables) {
  const Folder folder;
  for (const char* name : {"meta.csv", "measurement.csv", "shard.csv"}) folder.write(name, "");
  EXPECT_TRUE(is_own_export(folder.path()));
  std::filesystem::remove(folder.path() / "meta.csv");
  EXPECT_TRUE(is_own_export(folder.path()));
  std::filesystem::remove(folder.path() / "shard.csv");
  EXPECT_FALSE(is_own_export(folder.path()));
}

TEST(OwnExport, NeitherADatabaseNorWhatIsMissing) {
  const Folder folder;
  { store::Database::create(folder.path() / "run.db"); }
  EXPECT_FALSE(is_own_export(folder.path() / "run.db"));
  EXPECT_FALSE(is_own_export(folder.path() / "nothing"));
}

}  // namespace
}  // namespace ddpprof::import
