// The page Scaling of a sharded training (FSDP): its knobs, and answers that equal those of the predictor.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QPushButton>
#include <QSlider>
#include <QTest>
#include <fstream>

#include "analysis/predict/sharded/sharded_prediction.hpp"
#include "analysis/report/tables/models/model_tables.hpp"
#include "gui/models/selection.hpp"
#include "gui/pages/scaling/scaling_page.hpp"
#include "gui/pages/scaling/sharded_panel.hpp"
#include "gui/widgets/knob.hpp"
#include "gui/widgets/table_view.hpp"
#include "tests/analysis/predict/sharded_measurements.hpp"

namespace ddpprof::gui::whatif {
namespace {

using testing::HasSubstr;
using testing::Not;

// A log of nccl-tests on two hosts of four ranks each, with times that follow the bandwidth.
void write_log(const std::filesystem::path& path, const std::string& program, const std::string& operation) {
  std::ofstream log(path);
  log << "# Collective test starting: " << program << "\n"
      << "# nThread 1 nGpus 1 minBytes 1024 maxBytes 8388608 step: 2(factor) warmup iters: 5 iters: 20\n";
  for (int rank = 0; rank < 8; ++rank)
    log << "#  Rank  " << rank << " Group  0 Pid   100" << rank << " on   host" << rank / 4 << " device  " << rank % 4
        << " [0x07] NVIDIA H100\n";
  log << "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n"
      << "#  (B)  (elements)  (us)  (GB/s)  (GB/s)  (us)  (GB/s)  (GB/s)\n";
  for (std::int64_t bytes = 1024; bytes <= 8 << 20; bytes *= 2) {
    const double us = 40.0 + static_cast<double>(bytes) / 20e3, gb_per_s = static_cast<double>(bytes) / us / 1e3;
    log << fmt::format("{} {} float {} -1 {:.2f} {:.4f} {:.4f} 0 {:.2f} {:.4f} {:.4f} 0\n", bytes, bytes / 32, operation,
                       us, gb_per_s, gb_per_s * 7.0 / 8.0, us, gb_per_s, gb_per_s * 7.0 / 8.0);
  }
}

class ScalingOfShards : public fit::Sharded {
 protected:
  void open(const fit::Made& made = {.device = "cuda"}) {
    measure(1, made);
    measure(2, made);
    options_.workers = {1, 2, 4, 8};
    fit::write_predictions(database_, fit::predict_all(database_, options_));
    database_.finish_load();
    file_ = open_file(database_.path());
    page_.resize(1280, 680);
    page_.show();
    page_.show_file(file_);
    ASSERT_TRUE(settles());
  }
  bool settles() {
    return QTest::qWaitFor([&] { return !panel().busy(); }, 60'000);
  }
  ShardedPanel& panel() { return page_.sharded(); }
  fit::PredictResult asked(const std::vector<std::string>& changes = {}) {
    fit::PredictOptions options = options_;
    options.what_if = fit::parse_what_if(changes);
    return fit::predict_all(database_, options);
  }
  // The table as it is printed.
  static std::string printed(const report::Table& table) { return as_csv(table).toStdString(); }
  std::string shown() { return printed(panel().predictions().model_of_table().table()); }

  fit::PredictOptions options_;
  Selection selection_;
  ScalingPage page_{selection_};
  std::shared_ptr<const OpenedFile> file_;
};

TEST_F(ScalingOfShards, ShowsPredictionsAndRankedChanges) {
  open();
  EXPECT_TRUE(page_.applies_to(*file_));
  EXPECT_TRUE(panel().isVisible());
  EXPECT_EQ(shown(), printed(report::predictions_table(asked().predictions)));
  const report::Table& changes = panel().levers().model_of_table().table();
  const auto ranked = fit::ranked_sharded_changes(database_.sql(), options_, 8);
  ASSERT_FALSE(ranked.empty());
  ASSERT_EQ(changes.rows.size(), ranked.size());
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    EXPECT_EQ(report::value_of<std::string>(changes, changes.rows[i], "change"), ranked[i].change);
    EXPECT_EQ(report::value_of<double>(changes, changes.rows[i], "speedup"), ranked[i].effect.speedup);
  }
  EXPECT_FALSE(selection_.choice());
  EXPECT_EQ(panel().command().toStdString(),
            "ddpprof predict " + file_->path.string() + " --workers 1,2,4,8");
  EXPECT_EQ(panel().number("gpus_per_node")->box()->text().toStdString(), "automatic (8)");
}

TEST_F(ScalingOfShards, AChangeHasTheEffectOfThePredictor) {
  open();
  Choice* reshard = panel().list("reshard_after_forward");
  reshard->combo()->setCurrentIndex(reshard->combo()->findData("reshard_after_forward=off"));
  panel().number("compute")->slider()->setValue(panel().number("compute")->slider()->value() + 16);
  ASSERT_TRUE(settles());
  const double compute = panel().number("compute")->value();
  ASSERT_GT(compute, 1.0);
  EXPECT_THAT(panel().command().toStdString(), HasSubstr(" --what-if reshard_after_forward=off --what-if compute="));
  const std::string compute_text = panel().command().section("compute=", 1).toStdString();
  const auto effects = asked({"reshard_after_forward=off", "compute=" + compute_text}).what_ifs;
  const auto at_8 = std::ranges::find(effects, 8, &fit::WhatIfRow::workers);
  ASSERT_NE(at_8, effects.end());
  EXPECT_THAT(panel().summary().toStdString(), HasSubstr(figure_text(at_8->speedup, Quantity::speedup)));
  EXPECT_FALSE(selection_.choice()) << "a change is not another machine";
  panel().reset_all()->click();
  ASSERT_TRUE(settles());
  EXPECT_THAT(panel().summary().toStdString(), Not(HasSubstr("What if")));
}

// One of each kind of knob: a list, a number, a factor.
TEST_F(ScalingOfShards, ARankedChangeCanBeSetAlone) {
  open();
  for (const fit::RankedChange& one : fit::ranked_sharded_changes(database_.sql(), options_, 8)) {
    if (one.change != "reshard_after_forward=off" && one.change != "replicate=2" && one.change != "latency=0.5x")
      continue;
    panel().set_alone(one.change);
    ASSERT_TRUE(settles());
    EXPECT_TRUE(panel().command().endsWith(QString::fromStdString(" --what-if " + one.change)))
        << panel().command().toStdString();
    EXPECT_THAT(panel().summary().toStdString(), HasSubstr(figure_text(one.effect.speedup, Quantity::speedup)));
  }
}

// On a CPU FSDP waits for its collectives with and without prefetch.
TEST_F(ScalingOfShards, ARejectedChangeHasItsReason) {
  open({.cores = 8});
  panel().set_alone("prefetch=off");
  ASSERT_TRUE(settles());
  EXPECT_THAT(panel().summary().toStdString(), HasSubstr("on a CPU FSDP waits for each of its collectives"));
  EXPECT_EQ(panel().number("gpus_per_node")->box()->text().toStdString(), "automatic (all)");
}

TEST_F(ScalingOfShards, LogsOfTheLinksBetweenNodesReplaceAMeasurement) {
  open();
  panel().number("gpus_per_node")->box()->setValue(4);
  ASSERT_TRUE(settles());
  EXPECT_THAT(panel().summary().toStdString(), HasSubstr("between hosts were not measured"));
  const std::filesystem::path gathers = folder_ / "gather.log", scatters = folder_ / "scatter.log";
  write_log(gathers, "all_gather_perf", "none");
  write_log(scatters, "reduce_scatter_perf", "sum");
  const auto used = [&](const std::vector<std::filesystem::path>& logs) {
    QStringList paths;
    for (const std::filesystem::path& log : logs) paths << QString::fromStdString(log.string());
    return panel().set_logs(paths).toStdString();
  };
  EXPECT_THAT(used({file_->path}), HasSubstr("a.db"));
  ASSERT_EQ(used({gathers, scatters}), "");
  ASSERT_TRUE(settles());
  EXPECT_THAT(panel().summary().toStdString(), Not(HasSubstr("Not predicted")));
  EXPECT_THAT(panel().command().toStdString(),
              HasSubstr(" --gpus-per-node 4 --all-gather " + gathers.string() + " --reduce-scatter " +
                        scatters.string()));
  ASSERT_TRUE(selection_.choice());
  EXPECT_EQ(selection_.choice()->text, "4 GPUs per node, links of gather.log, links of scatter.log");
  EXPECT_EQ(selection_.choice()->options.shard_collectives.size(), 2U);
  panel().list("links")->reset();
  ASSERT_TRUE(settles());
  EXPECT_EQ(selection_.choice()->text, "4 GPUs per node");
}

TEST_F(ScalingOfShards, AnotherNIsTheChoiceOfAllPages) {
  open();
  panel().number("workers")->box()->setValue(6);
  ASSERT_TRUE(settles());
  EXPECT_THAT(panel().command().toStdString(), HasSubstr("--workers 1,2,4,6"));
  ASSERT_TRUE(selection_.choice());
  EXPECT_EQ(selection_.choice()->text, "N = 6");
  page_.show_file(nullptr);
  EXPECT_FALSE(selection_.choice());
  EXPECT_FALSE(panel().isVisible());
}

}  // namespace
}  // namespace ddpprof::gui::whatif
