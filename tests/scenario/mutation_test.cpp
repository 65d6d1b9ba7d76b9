// Damaged scenario files: the reader always returns, with problems at positions inside of the file.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "runner/scenario/read.hpp"
#include "tests/scenario/files.hpp"

namespace ddpprof::scenario {
namespace {

std::string damaged(std::string text, std::mt19937_64& random) {
  static const std::string pieces[] = {
      "[",   "]",   "{", "}", ":",     "- ",   "\"", "'",  "\n",    "\t", "#",  "&a ",  "*a",
      "!x ", "|\n", "0", "-", "1e999", ".nan", "~",  "? ", "---\n", "%",  "\\", "\xC3", std::string(1, '\0')};
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
    const std::size_t at = below(text.size() + 1);
    switch (below(4)) {
      case 0:
        text.insert(at, pieces[below(std::size(pieces))]);
        break;
      case 1:
        text.erase(at, 1 + below(20));
        break;
      case 2:
        text.insert(at, text.substr(below(text.size() + 1), below(60)));
        break;
      default:
        text.resize(at);
    }
  }
  return text;
}

TEST(Read, AnswersToAnyDamage) {
  std::vector<std::string> files;
  for (const std::string& name : test::scenario_names("scenarios")) {
    files.push_back(test::read_bytes(test::source_path("scenarios/" + name + ".yaml")));
  }
  ASSERT_FALSE(files.empty());
  std::mt19937_64 random(1);
  int refused = 0;
  constexpr int rounds = 3000;
  for (int round = 0; round < rounds; ++round) {
    const std::string text = damaged(files[static_cast<std::size_t>(round) % files.size()], random);
    SCOPED_TRACE(text);
    const ReadResult result = read_text(text, "damaged.yaml");
    const auto lines = std::ranges::count(text, '\n') + 1;
    for (const Problem& problem : result.problems) {
      ASSERT_EQ(problem.file, "damaged.yaml");
      ASSERT_FALSE(problem.message.empty());
      ASSERT_LE(problem.line, lines + 1);  // an error at the end of the text is one line past it
      ASSERT_EQ(problem.line == 0, problem.column == 0);
    }
    if (result.problems.empty()) {
      const ReadResult again = read_text(to_yaml(result.scenario), "written.yaml");
      ASSERT_TRUE(again.problems.empty()) << again.problems[0].text();
      ASSERT_EQ(again.scenario, result.scenario);
    } else {
      ++refused;
    }
  }
  // A changed comment leaves a file valid. The test requires some valid and some rejected files.
  EXPECT_GT(refused, rounds / 3);
  EXPECT_LT(refused, rounds);
}

}  // namespace
}  // namespace ddpprof::scenario
