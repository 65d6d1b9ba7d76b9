// Every file in bad/ is invalid. Its problems must be exactly those that it lists, in this order.
//
// A file has "# set: KEY=VALUE" for overrides and "# expect: TEXT" for each problem, at its end, so that line numbers
// do not change. If a comment would change the tested text (an open quote, an empty file), NAME.expect has the
// problems.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "runner/scenario/read.hpp"
#include "tests/scenario/files.hpp"

namespace ddpprof::scenario {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_after(const std::string& text, const std::string& prefix) {
  std::vector<std::string> found;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(prefix)) found.push_back(line.substr(prefix.size()));
  }
  return found;
}

class BadFile : public testing::TestWithParam<std::string> {};

TEST_P(BadFile, SaysWhatItNames) {
  const fs::path file = test::source_path("tests/scenario/bad/" + GetParam() + ".yaml");
  const std::string text = test::read_bytes(file);
  fs::path beside = file;
  beside.replace_extension(".expect");
  const std::vector<std::string> expected =
      fs::exists(beside) ? lines_after(test::read_bytes(beside), "") : lines_after(text, "# expect: ");
  ASSERT_FALSE(expected.empty()) << "the file names no problem";

  const ReadResult result = read_file(file, lines_after(text, "# set: "));
  std::vector<std::string> found;
  for (const Problem& problem : result.problems) {
    std::string line = problem.text();
    const std::string folder = file.parent_path().string() + "/";
    if (line.starts_with(folder)) line.erase(0, folder.size());
    found.push_back(line);
  }
  EXPECT_EQ(found, expected);
}

INSTANTIATE_TEST_SUITE_P(Scenario, BadFile, testing::ValuesIn(test::scenario_names("tests/scenario/bad")),
                         [](const auto& parameter) { return test::underscored(parameter.param); });

// The number of cases that the project requires.
TEST(BadFiles, AreManyEnough) { EXPECT_GE(test::scenario_names("tests/scenario/bad").size(), 40u); }

}  // namespace
}  // namespace ddpprof::scenario
