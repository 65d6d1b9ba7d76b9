#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "runner/scenario/keys.hpp"
#include "runner/scenario/read.hpp"
#include "tests/scenario/files.hpp"

namespace ddpprof::scenario {
namespace {

TEST(Documentation, IsTheCommittedFile) {
  EXPECT_EQ(scenario_markdown(), test::read_bytes(test::source_path("docs/reference/scenario.md")))
      << "write it anew: ddpprof_scenario_documentation > docs/reference/scenario.md";
}

TEST(Documentation, ItsExampleIsSound) {
  const std::string text = scenario_markdown();
  const std::size_t begin = text.find("```yaml\n") + 8;
  const ReadResult result = read_text(text.substr(begin, text.find("```\n", begin) - begin), "example");
  ASSERT_TRUE(result.problems.empty()) << result.problems[0].text();
  EXPECT_EQ(result.scenario.name, "mnist-mlp");
}

TEST(Documentation, EveryKeySaysWhatItIs) {
  std::set<std::string_view> seen;
  for (const KeyDoc& doc : keys()) {
    EXPECT_TRUE(seen.insert(doc.key).second) << doc.key << " is declared twice";
    EXPECT_GT(doc.doc.size(), 15u) << doc.key;
    EXPECT_TRUE(doc.doc.ends_with(".")) << doc.key;
    EXPECT_FALSE(doc.allowed.empty()) << doc.key;
    EXPECT_EQ(doc.required, doc.default_value.empty()) << doc.key;
  }
}

// The keys of a written scenario are the documented keys. A member without a key would be lost.
TEST(Documentation, KeysAreThoseThatAreWritten) {
  std::set<std::string> written, documented;
  for (const char* workload :
       {"model: {kind: linear, in: 2, out: 2}", "model: {kind: mlp, widths: [2, 2]}", "model: {kind: resnet18}",
        "model: {kind: gpt}", "model: {kind: recommender}, loss: bce",
        "model: {kind: torchscript, file: m.pt, inputs: ['float32[4]'], target: 'int64[]<3'}", "command: [train.py]"}) {
    const ReadResult result = read_text(std::string("{name: x, workload: {") + workload + "}}", "x");
    ASSERT_TRUE(result.problems.empty()) << result.problems[0].text();
    std::istringstream lines(to_yaml(result.scenario));
    std::vector<std::string> groups;
    for (std::string line; std::getline(lines, line);) {
      const std::size_t depth = line.find_first_not_of(' ') / 2;
      groups.resize(depth);
      const std::size_t colon = line.find(':');
      std::string path;
      for (const std::string& group : groups) path += group + ".";
      const std::string name = line.substr(2 * depth, colon - 2 * depth);
      if (colon + 1 == line.size()) {
        groups.push_back(name);
      } else {
        written.insert(path + name);
      }
    }
  }
  for (const KeyDoc& doc : keys()) documented.insert(std::string(doc.key));
  EXPECT_EQ(written, documented);
}

// The reader accepts every default.
TEST(Documentation, EveryDefaultIsAccepted) {
  for (const KeyDoc& doc : keys()) {
    if (doc.required) continue;
    const std::string model = doc.only_for.starts_with("resnet")        ? "{kind: resnet18}"
                              : doc.only_for.starts_with("gpt")         ? "{kind: gpt}"
                              : doc.only_for.starts_with("recommender") ? "{kind: recommender}, loss: bce"
                                                                        : "{kind: mlp, widths: [2, 2]}";
    const std::string workload = doc.only_for == "workload.command" ? "command: [train.py]" : "model: " + model;
    const std::string overrides[] = {std::string(doc.key) + "=" + doc.default_value};
    const ReadResult result = read_text("{name: x, workload: {" + workload + "}}", "x", overrides);
    EXPECT_TRUE(result.problems.empty()) << result.problems[0].text();
  }
}

}  // namespace
}  // namespace ddpprof::scenario
