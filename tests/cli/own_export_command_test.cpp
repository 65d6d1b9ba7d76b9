// `ddpprof import` rejects what `ddpprof export` wrote, and its message names what to open instead.
#include <gmock/gmock.h>

#include "tests/cli/command_line.hpp"

namespace ddpprof::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class OwnExportCommand : public CommandLine {
 protected:
  static std::string out(const std::string& name) { return (folder_ / name).string(); }

  static std::string exported(const std::string& format, const std::string& name) {
    const Outcome outcome = run_ddpprof({"export", database_, "--format", format, "--out", out(name)});
    EXPECT_EQ(outcome.code, 0) << outcome.messages;
    return out(name);
  }
};

TEST_F(OwnExportCommand, EveryFormatIsRefusedWithTheWayOut) {
  const std::string trace = file("trace.json", R"({"traceEvents":[]})");
  const std::pair<std::string, std::string> named[] = {{exported("csv", "tables"), "tables"},
                                                       {exported("chrome", "chrome.json"), "chrome.json"},
                                                       {exported("nsys", "nsys"), ".sqlite"}};
  for (const auto& [path, file] : named)
    for (const std::vector<std::string>& inputs : {std::vector{path}, {path, trace}, {trace, path}}) {
      std::vector<std::string> arguments = {"import", "--out", out("x.db")};
      arguments.insert(arguments.end(), inputs.begin(), inputs.end());
      const Outcome outcome = run_ddpprof(arguments);
      EXPECT_EQ(outcome.code, 2) << path;
      EXPECT_THAT(outcome.messages, AllOf(HasSubstr(file + ": it is an export of ddpprof"),
                                          HasSubstr("open the database that the export was made from")));
    }
  EXPECT_FALSE(fs::exists(out("x.db")));
}

TEST_F(OwnExportCommand, ADatabaseThatItWouldReplaceStays) {
  const std::string chrome = exported("chrome", "whole.json"), target = out("target.db");
  fs::copy_file(database_, target);
  EXPECT_EQ(run_ddpprof({"import", chrome, "--out", target, "--overwrite"}).code, 2);
  EXPECT_TRUE(read_all(target) == read_all(database_));
}

TEST_F(OwnExportCommand, WithoutItsMarkerATraceIsReadLikeAnyOther) {
  std::string text = read_all(exported("chrome", "marked.json"));
  const std::string marker = "\"ddpprof\":{\"format\":1,\"schema\":9},";
  const std::size_t at = text.find(marker);
  ASSERT_NE(at, std::string::npos);
  const Outcome outcome =
      run_ddpprof({"import", file("unmarked.json", text.erase(at, marker.size())), "--out", out("unmarked.db")});
  EXPECT_THAT(outcome.messages, Not(HasSubstr("export of ddpprof")));
}

}  // namespace
}  // namespace ddpprof::test
