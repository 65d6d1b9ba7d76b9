// A scenario while it is typed: problems at the places that the command line reports, and the words allowed at the
// cursor.
#include "gui/models/runs/scenario_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QFile>
#include <QFileInfo>
#include <algorithm>

#include "runner/scenario/keys.hpp"
#include "runner/scenario/read.hpp"

namespace ddpprof::gui {
namespace {

const QString sound =
    "name: small\n"
    "workload:\n"
    "  model: {kind: mlp, widths: [8, 4]}\n"
    "  data: {samples: 1000}\n"
    "  batch_per_worker: 8\n"
    "strategies: [ddp]\n"
    "workers: [1, 2]\n"
    "measure:\n"
    "  steps: 20\n";

TEST(CheckScenario, AValidScenarioHasNoProblem) { EXPECT_TRUE(check_scenario(sound).empty()); }

TEST(CheckScenario, ReportsTheCommandLinesProblemsWithTheirPlaces) {
  QString text = sound;
  text.replace("steps: 20", "stepz: 20");
  const auto found = check_scenario(text);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].line, 9);
  EXPECT_EQ(found[0].column, 3);
  EXPECT_EQ(found[0].length, 5) << "the whole word is underlined";
  const auto said = scenario::read_text(text.toStdString(), "").problems;
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(found[0].message.toStdString(), said[0].message);
  EXPECT_EQ(found[0].key.toStdString(), said[0].key);
}

TEST(CheckScenario, AProblemWithoutAPlaceIsOnTheFirstLine) {
  const auto found = check_scenario("");
  ASSERT_FALSE(found.empty());
  for (const TextProblem& problem : found) {
    EXPECT_EQ(problem.line, 1);
    EXPECT_GE(problem.length, 1);
  }
}

std::vector<QString> inserts(const QString& text_with_cursor) {
  QString text = text_with_cursor;
  const int cursor = static_cast<int>(text.indexOf('|'));
  text.remove(cursor, 1);
  std::vector<QString> all;
  for (const Suggestion& suggestion : complete_scenario(text, cursor).suggestions) all.push_back(suggestion.insert);
  return all;
}

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

TEST(CompleteScenario, KeysOfTheGroupTheCursorIsIn) {
  EXPECT_THAT(inserts("na|"), ElementsAre("name: "));
  EXPECT_THAT(inserts("|"), Contains("workload:"));
  EXPECT_THAT(inserts("measure:\n  st|"), ElementsAre("steps: "));
  EXPECT_THAT(inserts("measure:\n  steps: 3\n  rep|"), ElementsAre("repeats: "));
  EXPECT_THAT(inserts("measure:\n  steps: 3\npre|"), ElementsAre("predict:"));
  EXPECT_THAT(inserts("workload:\n  model:\n    kind: mlp\n  opt|"), ElementsAre("optimizer:"));
  EXPECT_THAT(inserts("measure:\n  # about steps\n\n  st|"), ElementsAre("steps: "));
}

TEST(CompleteScenario, KeysInsideFlowMaps) {
  EXPECT_THAT(inserts("measure: {st|"), ElementsAre("steps: "));
  EXPECT_THAT(inserts("measure: {steps: 5, rep|}"), ElementsAre("repeats: "));
  EXPECT_THAT(inserts("workload:\n  model: {ki|"), ElementsAre("kind: "));
  EXPECT_THAT(inserts("workload: {model: {ki|"), ElementsAre("kind: "));
  EXPECT_THAT(inserts("workload: {model: {kind: mlp}, bat|"), ElementsAre("batch_per_worker: "));
  EXPECT_THAT(inserts("measure: {steps: 5,\n  rep|"), ElementsAre("repeats: ")) << "over several lines";
}

TEST(CompleteScenario, ValuesOfChoices) {
  EXPECT_THAT(inserts("strategies: [dd|"), ElementsAre("ddp"));
  EXPECT_THAT(inserts("strategies: [ddp, |]"), ElementsAre("ddp", "dp"));
  EXPECT_THAT(inserts("strategies:\n  - ddp\n  - |"), ElementsAre("ddp", "dp"));
  EXPECT_THAT(inserts("workload:\n  model: {kind: resnet|"), ElementsAre("resnet18", "resnet50"));
  EXPECT_THAT(inserts("measure:\n  trace: |"), ElementsAre("true", "false"));
  EXPECT_THAT(inserts("measure:\n  steps: |"), IsEmpty()) << "any number is allowed";
}

TEST(CompleteScenario, OnlyKeysThatFitTheModelsKind) {
  EXPECT_THAT(inserts("workload:\n  model:\n    kind: gpt\n    |"), Contains("heads: "));
  EXPECT_THAT(inserts("workload:\n  model:\n    kind: gpt\n    |"), Not(Contains("widths: ")));
  EXPECT_THAT(inserts("workload:\n  model:\n    |"), Contains("widths: ")) << "without a kind, the keys of all kinds";
}

TEST(CompleteScenario, NothingInCommentsAndTexts) {
  EXPECT_THAT(inserts("# na|"), IsEmpty());
  EXPECT_THAT(inserts("workers: [1]  # st|"), IsEmpty());
  EXPECT_THAT(inserts("workload:\n  data: {path: \"sa|"), IsEmpty());
}

TEST(CompleteScenario, NeverFailsWhereverTheCursorIsInAnyText) {
  for (const QString& path : example_scenarios()) {
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    const QString text = QString::fromUtf8(file.readAll());
    for (int cursor = 0; cursor <= text.size(); ++cursor) {
      const Completion found = complete_scenario(text, cursor);
      ASSERT_LE(found.begin, cursor);
      ASSERT_GE(found.begin, 0);
    }
  }
  for (const QString& odd : QStringList{"}]", "{{[", "a: {b: [c: \"", ": :", "\t- x"})
    for (int cursor = 0; cursor <= odd.size(); ++cursor) complete_scenario(odd, cursor);
}

TEST(DescribeKey, EveryKeyOfTheTableIsFoundWhereItStandsAndDescribed) {
  EXPECT_EQ(key_at("measure:\n  steps: 20\n", 13), "measure.steps");
  EXPECT_EQ(key_at("measure:\n  steps: 20\n", 19), "measure.steps") << "in its value";
  EXPECT_EQ(key_at("workload:\n  model: {kind: mlp}", 29), "workload.model.kind");
  for (const scenario::KeyDoc& key : scenario::keys()) {
    const QString name = QString::fromStdString(std::string(key.key));
    const QString described = describe_key(name);
    EXPECT_TRUE(described.startsWith(name + ": ")) << name.toStdString();
    EXPECT_TRUE(described.endsWith(QString::fromStdString(std::string(key.doc)))) << name.toStdString();
  }
  EXPECT_TRUE(describe_key("measure").startsWith("measure: "));
  EXPECT_EQ(describe_key("no.such.key"), "");
}

TEST(ExampleScenarios, AllExistAndAreValid) {
  const QStringList all = example_scenarios();
  ASSERT_FALSE(all.isEmpty());
  for (const QString& path : all) {
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    EXPECT_TRUE(check_scenario(QString::fromUtf8(file.readAll())).empty()) << path.toStdString();
  }
}

TEST(ScenarioName, IsTheNameIfThereIsOne) {
  EXPECT_EQ(scenario_name(sound), "small");
  EXPECT_EQ(scenario_name("name: {\n"), "");
  EXPECT_EQ(scenario_name("workers: [1]\n"), "");
}

}  // namespace
}  // namespace ddpprof::gui
