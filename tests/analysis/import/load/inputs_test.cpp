// Names expanded to files, the kind of each file, and the rank in a name.
#include "analysis/import/load/inputs.hpp"

#include <gmock/gmock.h>

#include "analysis/import/load/ranks.hpp"
#include "tests/analysis/import/bytes/packed.hpp"
#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Inputs, WhatAFileIs) {
  const Folder folder;
  const auto kind = [&](const std::string& content) { return kind_of(folder.write("file", content)); };
  EXPECT_EQ(kind("{\"traceEvents\": []}"), FileKind::json);
  EXPECT_EQ(kind(" \r\n[ "), FileKind::json);
  EXPECT_EQ(kind("\xEF\xBB\xBF{}"), FileKind::json);
  EXPECT_EQ(kind(gzipped("anything")), FileKind::json);
  EXPECT_EQ(kind(zstd_packed("anything")), FileKind::json);
  EXPECT_EQ(kind(""), FileKind::json) << "the reader reports that it is empty";
  EXPECT_EQ(kind("<html>"), FileKind::text);
  EXPECT_EQ(kind("batch,seconds\n32,0.1\n"), FileKind::text);
  EXPECT_EQ(kind("\x80\x04\x95"), FileKind::text);
  EXPECT_EQ(kind(std::string(100, '\0')), FileKind::text);
  EXPECT_EQ(kind("SQLite format 3" + std::string(85, '\0')), FileKind::sqlite);
  EXPECT_EQ(kind("SQLite format 3"), FileKind::sqlite);
  EXPECT_EQ(kind_of(folder.path()), FileKind::unreadable);
  EXPECT_EQ(kind_of(folder.path() / "missing"), FileKind::unreadable);
  std::filesystem::create_symlink(folder.path() / "missing", folder.path() / "dangling");
  EXPECT_EQ(kind_of(folder.path() / "dangling"), FileKind::unreadable);
  { store::Database::create(folder.path() / "ours.db"); }
  EXPECT_EQ(kind_of(folder.path() / "ours.db"), FileKind::ours);
}

std::vector<std::string> expanded(const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const auto& path : expand_inputs(names)) found.push_back(path.filename().string());
  return found;
}

std::string refusal(const std::vector<std::string>& names) {
  try {
    expand_inputs(names);
  } catch (const ImportError& error) {
    return error.what();
  }
  return "";
}

TEST(Inputs, AFolderGivesNoShardThatWasNotBegun) {
  const Folder folder;
  folder.write("shard-0-1.ddps", "");
  folder.write("shard-0-2.ddps", std::string(4096, '\0'));
  folder.write("shard-0-3.ddps", "damaged" + std::string(4096, '\0'));
  EXPECT_THAT(expanded({folder.path().string()}), ElementsAre("shard-0-3.ddps")) << "its reader reports the damage";
}

TEST(Inputs, AFolderGivesItsTracesInNaturalOrder) {
  const Folder folder;
  for (const char* name : {"rank10.json", "rank2.json", "rank1.json.gz", "rank01.json.zst", "notes.txt", "x.sqlite",
                           "rank3.json.part", "README"})
    folder.write(name, "x");
  std::filesystem::create_directory(folder.path() / "folder.json");
  EXPECT_THAT(expanded({folder.path().string()}),
              ElementsAre("rank1.json.gz", "rank01.json.zst", "rank2.json", "rank10.json", "x.sqlite"));
  EXPECT_THAT(expanded({(folder.path() / "rank?.json").string()}), ElementsAre("rank2.json"));
  EXPECT_THAT(expanded({(folder.path() / "rank*.json").string()}), ElementsAre("rank2.json", "rank10.json"));
  EXPECT_THAT(expanded({(folder.path() / "missing.json").string()}), ElementsAre("missing.json"))
      << "reported when opened";
}

TEST(Inputs, NothingIsGivenTwice) {
  const Folder folder;
  const std::string a = folder.write("a.json", "x").string();
  std::filesystem::create_symlink(a, folder.path() / "b.json");
  EXPECT_THAT(refusal({a, a}), HasSubstr("a.json is given twice"));
  EXPECT_THAT(refusal({a, (folder.path() / "." / "a.json").string()}), HasSubstr("given twice"));
  EXPECT_THAT(refusal({folder.path().string()}), HasSubstr("given twice")) << "a link to the same file";
  EXPECT_THAT(refusal({a, (folder.path() / "a*").string()}), HasSubstr("given twice"));
}

TEST(Inputs, NamesThatGiveNothing) {
  const Folder folder;
  EXPECT_THAT(refusal({folder.path().string()}), HasSubstr("no trace in this folder"));
  EXPECT_THAT(refusal({(folder.path() / "*.json").string()}), HasSubstr("no file matches"));
}

TEST(Inputs, APatternThatIsAFilesName) {
  const Folder folder;
  const std::string odd = folder.write("trace[1].json", "x").string();
  EXPECT_THAT(expanded({odd}), ElementsAre("trace[1].json"));
}

TEST(Ranks, InNames) {
  for (const auto& [name, rank] : std::vector<std::pair<std::string, std::optional<std::int64_t>>>{
           {"rank0.json.gz", 0},
           {"trace_8_rank_1.json", 1},
           {"Rank-12.pt.trace.json", 12},
           {"rank=3.json", 3},
           {"a100_ddp_rank0of2.json.gz", 0},
           {"rank1/trace.json", std::nullopt},
           {"frank.json", std::nullopt},
           {"ranking_7.json", std::nullopt},
           {"rank99999999999999999999.json", std::nullopt},
           {"trace.json", std::nullopt},
           {"rank2_of_rank4.json", 4},
       })
    EXPECT_EQ(rank_in_name(name), rank) << name;
}

}  // namespace
}  // namespace ddpprof::import
