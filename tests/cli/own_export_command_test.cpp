// `ddpprof import` of what `ddpprof export` wrote, as a user calls it.
#include <gmock/gmock.h>

#include "tests/cli/command_line.hpp"

namespace ddpprof::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class OwnExportCommand : public CommandLine {
 protected:
  static std::string out(const std::string& name) { return (folder_ / name).string(); }

  static std::string exported(const std::string& format, const std::string& name, const std::string& from = database_) {
    const Outcome outcome = run_ddpprof({"export", from, "--format", format, "--out", out(name)});
    EXPECT_EQ(outcome.code, 0) << outcome.messages;
    return out(name);
  }

  static std::string all_bytes(const fs::path& path) {
    if (!fs::is_directory(path)) return read_all(path);
    std::string all;
    for (const store::Table& table : store::tables()) all += read_all(path / (std::string(table.name) + ".csv"));
    return all;
  }
};

TEST_F(OwnExportCommand, WhatIsRestoredReportsAndExportsAsBefore) {
  const std::string report = run_ddpprof({"report", database_, "--format", "json"}).out;
  for (const std::string format : {"csv", "chrome"}) {
    const std::string file = exported(format, "first-" + format), restored = out("restored-" + format + ".db");
    const Outcome outcome = run_ddpprof({"import", file, "--out", restored});
    EXPECT_EQ(outcome.code, 0) << outcome.messages;
    EXPECT_EQ(outcome.out, run_ddpprof({"report", database_, "--report", "summary"}).out) << format;
    EXPECT_THAT(outcome.messages, AllOf(HasSubstr("rows of"), HasSubstr("database: " + restored)));
    EXPECT_EQ(run_ddpprof({"report", restored, "--format", "json"}).out, report) << format;
    EXPECT_EQ(all_bytes(file), all_bytes(exported(format, "second-" + format, restored))) << format;
    EXPECT_FALSE(fs::exists(restored + ".d"));
  }
}

TEST_F(OwnExportCommand, OfNsightsShapeIsRestoredToo) {
  const std::string files = exported("nsys", "first-nsys"), restored = out("restored-nsys.db");
  const Outcome outcome = run_ddpprof({"import", files, "--out", restored});
  EXPECT_EQ(outcome.code, 0) << outcome.messages;
  const fs::path again = exported("nsys", "second-nsys", restored);
  int compared = 0;
  for (const auto& entry : fs::directory_iterator(files)) {
    EXPECT_TRUE(read_all(entry.path()) == read_all(again / entry.path().filename())) << entry.path();
    ++compared;
  }
  EXPECT_EQ(compared, 5) << "a file a measurement";
}

TEST_F(OwnExportCommand, AnExportComesAlone) {
  const std::string csv = exported("csv", "alone-csv"), chrome = exported("chrome", "alone.json");
  const std::string trace = file("trace.json", R"({"traceEvents":[]})");
  Outcome outcome = run_ddpprof({"import", csv, chrome, "--out", out("x.db")});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.messages, HasSubstr("are both exports of ddpprof"));
  outcome = run_ddpprof({"import", trace, chrome, "--out", out("x.db")});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.messages, HasSubstr("alone.json is an export of ddpprof, " + trace + " is not"));
  EXPECT_FALSE(fs::exists(out("x.db")));
}

TEST_F(OwnExportCommand, OptionsForTracesDoNotApply) {
  const std::string chrome = exported("chrome", "options.json");
  const std::vector<std::vector<std::string>> all = {{"--batch-per-worker", "4"},
                                                     {"--param-bytes", "4"},
                                                     {"--no-raw"},
                                                     {"--nodes", "2"},
                                                     {"--cores", "2"},
                                                     {"--partial"},
                                                     {"--model", "m"}};
  for (const std::vector<std::string>& options : all) {
    std::vector<std::string> arguments = {"import", chrome, "--out", out("y.db")};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Outcome outcome = run_ddpprof(arguments);
    EXPECT_EQ(outcome.code, 2) << options.front();
    EXPECT_THAT(outcome.messages, HasSubstr(options.front() + " does not apply to an export of ddpprof"));
  }
  EXPECT_FALSE(fs::exists(out("y.db")));
}

TEST_F(OwnExportCommand, ADatabaseIsReplacedOnlyByAWholeOne) {
  const std::string chrome = exported("chrome", "whole.json"), target = out("target.db");
  fs::copy_file(database_, target);
  const std::string before = read_all(target);
  Outcome outcome = run_ddpprof({"import", chrome, "--out", target});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.messages, HasSubstr("exists"));
  const std::string text = read_all(chrome), cut = file("cut.json", text.substr(0, text.size() / 2));
  outcome = run_ddpprof({"import", cut, "--out", target, "--overwrite"});
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.messages, AllOf(HasSubstr("cut.json, byte "), HasSubstr("cut short")));
  EXPECT_EQ(read_all(target), before);
  for (const auto& entry : fs::directory_iterator(folder_))
    EXPECT_EQ(entry.path().string().find(".importing"), std::string::npos) << entry.path();
  outcome = run_ddpprof({"import", chrome, "--out", target, "--overwrite"});
  EXPECT_EQ(outcome.code, 0) << outcome.messages;
  EXPECT_EQ(all_bytes(exported("chrome", "again.json", target)), text);
}

TEST_F(OwnExportCommand, AFolderThatWasEditedIsRefusedAndNamesThePlace) {
  const fs::path csv = exported("csv", "edited");
  fs::remove(csv / "step.csv");
  const Outcome outcome = run_ddpprof({"import", csv.string(), "--out", out("z.db")});
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.messages, HasSubstr("step.csv: no such file"));
  EXPECT_FALSE(fs::exists(out("z.db")));
}

TEST_F(OwnExportCommand, AnExportBesideADatabaseThatItWouldReplaceIsLeftAlone) {
  const std::string target = out("own.db");
  fs::copy_file(database_, target);
  fs::create_directories(target + ".d");
  std::ofstream(target + ".d/made-by-ddpprof") << "";
  const std::string chrome = exported("chrome", "own.db.d/trace.json");
  const Outcome outcome = run_ddpprof({"import", chrome, "--out", target, "--overwrite"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.messages, HasSubstr("would stand in the way"));
  EXPECT_TRUE(fs::exists(chrome));
}

TEST_F(OwnExportCommand, WithoutItsMarkerATraceIsReadAsAnybodys) {
  std::string text = read_all(exported("chrome", "marked.json"));
  const std::string marker = "\"ddpprof\":{\"format\":1,\"schema\":7},";
  const std::size_t at = text.find(marker);
  ASSERT_NE(at, std::string::npos);
  const Outcome outcome =
      run_ddpprof({"import", file("unmarked.json", text.erase(at, marker.size())), "--out", out("unmarked.db")});
  EXPECT_THAT(outcome.messages, testing::Not(HasSubstr("restored")));
}

}  // namespace
}  // namespace ddpprof::test
