// The numbers of the page Overview are those of `ddpprof report`.
#include "gui/models/overview/overview.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "analysis/predict/standard_changes.hpp"
#include "analysis/report/render/render.hpp"
#include "runner/scenario_queries/report.hpp"
#include "simulator/units/units.hpp"
#include "tests/gui/overview/overview_file.hpp"

namespace ddpprof::gui {
namespace {

using testing::HasSubstr;

std::string printed(const std::filesystem::path& path, const char* name) {
  store::Database database = store::Database::open_read(path);
  std::ostringstream text;
  render(scenario_queries::build_report(database, name), report::Format::markdown, text);
  return text.str();
}

const KeyFigure& figure(const Overview& all, const std::string& title) {
  for (const KeyFigure& one : all.figures)
    if (one.title == title) return one;
  throw std::logic_error("no figure " + title);
}

TEST(Overview, AnswersWhatTheReportAnswers) {
  const OverviewFile file(OverviewFile::host_bound());
  const Overview all = read_overview(*file.open());
  ASSERT_EQ(all.figures.size(), 4U) << all.why_no_step;
  const std::string answer = printed(file.path, "answer");
  // "N = 4: 123 ms per step (95 %: 120 ms to 125 ms)"
  EXPECT_THAT(answer, HasSubstr("N = 4: " + figure(all, "Step time").figure + " per step"));
  const std::string detail = figure(all, "Step time").detail;
  EXPECT_THAT(answer, HasSubstr(detail.substr(detail.rfind(": ") + 2)));
  for (const StepShare& share : all.step)
    if (share.part != StepPart::other && share.share >= 0.001) {
      EXPECT_THAT(answer, HasSubstr(units::percent(share.share, 3) + " " + share.name)) << share.name;
    }
  EXPECT_EQ(figure(all, "What binds").figure, "host");
  EXPECT_THAT(answer, HasSubstr("At N = 4 host"));
  EXPECT_THAT(all.job, HasSubstr("ddp at N = 4"));
  for (const auto& [about, text] : all.sentences) EXPECT_THAT(answer, HasSubstr(text)) << about;
  double sum = 0.0;
  for (const StepShare& share : all.step) sum += share.share;
  EXPECT_NEAR(sum, 1.0, 2e-3);
}

TEST(Overview, ChangesAreThoseOfTheTableWhatHelps) {
  const OverviewFile file(OverviewFile::host_bound());
  const Overview all = read_overview(*file.open());
  ASSERT_FALSE(all.changes.empty());
  EXPECT_LE(all.changes.size(), 3U);
  EXPECT_EQ(all.changes_workers, 64);
  store::Database database = store::Database::open_read(file.path);
  const report::Report full = scenario_queries::build_report(database, "summary");
  const auto table = std::ranges::find(full.tables, std::string("what_helps"), &report::Table::name);
  ASSERT_NE(table, full.tables.end());
  // The first rows with a gain, in the order of the table.
  std::size_t next = 0;
  for (const report::Row& row : table->rows) {
    if (next == all.changes.size() || *report::value_of<double>(*table, row, "speedup") < 1.02) break;
    const UsefulChange& change = all.changes[next++];
    EXPECT_EQ(change.change, report::value_of<std::string>(*table, row, "change"));
    const auto number = [&](const char* column) {
      return units::format_significant(*report::value_of<double>(*table, row, column), 3);
    };
    EXPECT_THAT(change.gain, HasSubstr(number("speedup_low")));
    EXPECT_THAT(change.gain, HasSubstr(number("speedup_high")));
    EXPECT_EQ(change.certain, *report::value_of<double>(*table, row, "speedup_low") >= 1.0) << change.change;
    EXPECT_EQ(change.needs, fit::change_requires(change.change));
  }
  EXPECT_EQ(next, all.changes.size());
}

// The file stays as it is, and the numbers are those of `ddpprof predict` with the options.
TEST(Overview, PredictsForAChoiceWithoutChangingTheFile) {
  fit::synthetic::Truth truth;
  truth.nccl = true;
  truth.noise = 0.02;
  const OverviewFile file(truth);
  const auto opened = file.open();
  PredictionChoice choice{16, opened->predict, "8 GPUs per node, hdr"};
  choice.options.gpus_per_node = 8;
  choice.options.inter_node = collective::parse_node_links("hdr");
  const Overview before = read_overview(*opened), chosen = read_overview(*opened, choice);
  EXPECT_EQ(chosen.changes_workers, 16);
  store::Database database = store::Database::open_read(file.path);
  fit::PredictOptions options = choice.options;
  options.workers = {16};
  const fit::Prediction row = fit::predict_all(database, options).predictions.front();
  const auto predicted = std::ranges::find(chosen.sentences, "ddp predicted", [](const auto& one) { return one.first; });
  ASSERT_NE(predicted, chosen.sentences.end());
  EXPECT_THAT(predicted->second, HasSubstr("N = 16: "));
  EXPECT_THAT(predicted->second, HasSubstr(units::format_quantity(row.step_low_s, "s")));
  EXPECT_THAT(predicted->second, HasSubstr(units::format_quantity(row.step_high_s, "s")));
  EXPECT_NO_THROW(opened->check_unchanged());
  EXPECT_EQ(read_overview(*opened).sentences, before.sentences);
  const Overview merged = with_choice(before, chosen);
  EXPECT_EQ(merged.sentences, chosen.sentences);
  EXPECT_EQ(merged.figures.size(), before.figures.size());
}

TEST(Overview, DeviceBusyLeavesOutTheWaitForLaunches) {
  const OverviewFile on_gpus(OverviewFile::host_bound());
  const Overview gpus = read_overview(*on_gpus.open());
  double busy = 0.0, launches = 0.0;
  for (const StepShare& share : gpus.step) {
    if (share.part == StepPart::launches) launches = share.share;
    if (share.part != StepPart::launches && share.part != StepPart::other) busy += share.share;
  }
  EXPECT_GT(launches, 0.3);
  EXPECT_EQ(figure(gpus, "Device busy").figure, units::percent(busy, 3));
  const OverviewFile on_cpus({});
  const Overview cpus = read_overview(*on_cpus.open());
  EXPECT_THROW(figure(cpus, "Device busy"), std::logic_error) << "ranks on a CPU have no device";
  EXPECT_NE(figure(cpus, "Computing").figure, "");
}

TEST(Overview, AStepWithoutAPredictionHasItsMeasuredCommunication) {
  const OverviewFile file(OverviewFile::host_bound(), {1, 2, 4}, false);
  const Overview all = read_overview(*file.open());
  store::Database database = store::Database::open_read(file.path);
  const report::Report full = scenario_queries::build_report(database, "summary");
  const auto table = std::ranges::find(full.tables, std::string("step"), &report::Table::name);
  ASSERT_NE(table, full.tables.end());
  const auto exposed = report::value_of<double>(*table, table->rows.back(), "communication_overhead");
  ASSERT_TRUE(exposed && *exposed > 0.0);
  EXPECT_EQ(figure(all, "Exposed communication").figure, units::percent(*exposed, 3));
  EXPECT_EQ(figure(all, "What binds").detail, "this N is not predicted");
}

// The answer on one screen leaves out warnings for which it has no line.
TEST(Overview, HasTheMainWarningsThatTheAnswerHasNoLineFor) {
  fit::synthetic::Truth truth;
  truth.cores = 2;  // long sentences: predictions with shared and with own cores
  const OverviewFile file(truth, {1, 2});
  for (const char* code : {"rank_missing", "truncated", "samples_unknown", "cores_unknown"})
    store::Database::open_write(file.path)
        .sql()
        .exec("INSERT INTO diagnostic (severity, code, count, message, advice) VALUES ('warning', '" +
              std::string(code) + "', 1, '" + code + std::string(" of a long text").append(180, 'x') + "', 'what to do')");
  const Overview all = read_overview(*file.open());
  ASSERT_EQ(all.warnings.size(), 3U);
  EXPECT_THAT(all.warnings[0].second, testing::StartsWith("truncated"));
  EXPECT_THAT(all.warnings[1].second, testing::StartsWith("rank_missing"));
  store::Database database = store::Database::open_read(file.path);
  const report::Report answer = scenario_queries::build_report(database, "answer");
  const auto table = std::ranges::find(answer.tables, std::string("main_warnings"), &report::Table::name);
  EXPECT_TRUE(table == answer.tables.end() || table->rows.size() < 3U) << "too short a text: the test compares nothing";
}

TEST(Overview, AFileWithoutStepsSaysWhatToDo) {
  const QTemporaryDir folder;
  const std::filesystem::path path = std::filesystem::path(folder.path().toStdString()) / "bare.db";
  store::Database::create(path).finish_load();
  const Overview all = read_overview(*open_file(path));
  EXPECT_TRUE(all.figures.empty());
  EXPECT_THAT(all.why_no_step, HasSubstr("ddpprof run"));
}

TEST(Overview, AReplacedFileIsNotRead) {
  const OverviewFile file({});
  const auto opened = file.open();
  std::filesystem::remove(file.path);
  EXPECT_THROW(read_overview(*opened), std::runtime_error);
}

}  // namespace
}  // namespace ddpprof::gui
