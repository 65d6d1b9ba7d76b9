// The tables of every page, as the page copies them, are equal to the standard output of the real program, digit by
// digit.
#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLineEdit>
#include <QSpinBox>
#include <algorithm>
#include <set>

#include "gui/pages/fit/fit_page.hpp"
#include "gui/pages/learning_rate/learning_rate_page.hpp"
#include "gui/pages/ranks/ranks_page.hpp"
#include "gui/pages/runs/compare_panel.hpp"
#include "gui/pages/runs/runs_page.hpp"
#include "gui/pages/scaling/scaling_page.hpp"
#include "gui/widgets/diagnostics_bar.hpp"
#include "tests/gui/equality/shown_and_printed.hpp"

namespace ddpprof::gui {
namespace {

using test::Equality;
using test::expect_shown;
using test::printed;
using test::shown;
using test::tables_of;
using test::Texts;

// The command line that a page shows next to "In a shell".
QString shell_line(const QWidget& page, const QString& command) {
  for (const QLineEdit* field : page.findChildren<QLineEdit*>())
    if (field->isReadOnly() && field->text().startsWith("ddpprof " + command + " ")) return field->text();
  ADD_FAILURE() << "no line with ddpprof " << command.toStdString();
  return {};
}

class ScalingEquality : public Equality {
 protected:
  whatif::ScalingPage& scaling() { return page<whatif::ScalingPage>(); }
  void wait() {
    ASSERT_TRUE(QTest::qWaitFor([&] { return !scaling().model().busy(); }, test::patience_ms));
  }
  // The page has all tables that its command prints, and at least the listed ones.
  void compare(const std::set<std::string>& expected) {
    wait();
    const Texts page = shown(scaling()), shell = tables_of(printed(shell_line(scaling(), "predict")));
    for (const auto& [name, text] : shell) expect_shown(page, name, text);
    for (const std::string& name : expected) EXPECT_TRUE(shell.contains(name)) << name;
  }
};

TEST_F(ScalingEquality, AsOpened) { compare({"predictions", "why", "knee", "notes"}); }

TEST_F(ScalingEquality, WithKnobsTurned) {
  wait();
  whatif::Knobs knobs = scaling().model().knobs();
  knobs.workers = 24;
  knobs.bandwidth = 1.7;
  knobs.bucket_cap_mb = 3.5;
  knobs.batch = 48;
  knobs.gpus_per_node = 4;
  scaling().model().set_knobs(knobs);
  compare({"predictions", "what_if", "why", "knee", "notes"});
}

TEST_F(ScalingEquality, OfDataParallelOnDedicatedCores) {
  wait();
  whatif::Knobs knobs = scaling().model().knobs();
  knobs.strategy = "dp";
  knobs.dedicated = !knobs.dedicated;
  knobs.compute = 2.5;
  scaling().model().set_knobs(knobs);
  compare({"predictions", "what_if", "why", "knee"});
}

TEST_F(ScalingEquality, OfAnotherStrategy) {
  wait();
  whatif::Knobs knobs = scaling().model().knobs();
  knobs.strategy = "zero2";
  knobs.sixteen_bit = "compression=fp16";
  scaling().model().set_knobs(knobs);
  compare({"predictions", "what_if", "why", "knee"});
}

class LearningRateEquality : public Equality {
 protected:
  LearningRatePage& rates() { return page<LearningRatePage>(); }
  template <class Box>
  Box& control(const char* name) {
    return *rates().findChild<Box*>(name);
  }
  void wait() {
    ASSERT_TRUE(QTest::qWaitFor([&] { return !rates().predicting(); }, test::patience_ms));
  }
  void compare() {
    wait();
    const Texts page = shown(rates()), shell = tables_of(printed(shell_line(rates(), "lr")));
    for (const auto& [name, text] : shell) expect_shown(page, name, text);
    for (const char* name :
         {"learning_rate", "warmup", "learning_rate_rules", "training_time", "time_to_target",
          "learning_rate_schedules", "large_batches", "target_cost", "gradient_noise", "trained_rates"})
      EXPECT_TRUE(shell.contains(name)) << name;
  }
};

TEST_F(LearningRateEquality, AsOpened) { compare(); }

// The report uses the scenario, like the page after opening a file.
TEST_F(LearningRateEquality, OfTheReport) {
  wait();
  const Texts page = shown(rates()),
              report = tables_of(printed("ddpprof report " + quoted("run one.db") + " --report learning-rate"));
  for (const char* name :
       {"learning_rate", "warmup", "learning_rate_rules", "training_time", "time_to_target", "learning_rate_schedules",
        "large_batches", "target_cost", "gradient_noise", "trained_rates"}) {
    ASSERT_TRUE(report.contains(name)) << name;
    expect_shown(page, name, report.at(name));
  }
}

// Without decay and without a noise scale, `lr` prints schedules only because the command asks for them.
TEST_F(LearningRateEquality, OfAFileWithoutNoise) {
  {
    store::Database database = store::Database::open_write(path("run one.db"));
    database.sql().exec(
        "UPDATE step SET local_gradient_sqr = NULL, gradient_sqr = NULL; UPDATE scenario SET resolved = "
        "replace(resolved, 'cosine', 'constant')");
  }
  open("run one.db");
  wait();
  const Texts page = shown(rates()), shell = tables_of(printed(shell_line(rates(), "lr")));
  for (const auto& [name, text] : shell) expect_shown(page, name, text);
  EXPECT_TRUE(shell.contains("learning_rate_schedules"));
  EXPECT_FALSE(shell.contains("large_batches"));
}

TEST_F(LearningRateEquality, TunedAtABatch) {
  control<QSpinBox>("base_workers").setValue(2);
  control<QSpinBox>("base_batch").setValue(96);
  compare();
  EXPECT_TRUE(shell_line(rates(), "lr").endsWith("--base-batch 96"));
  // Set again by the number of workers: the command no longer has a base batch.
  control<QSpinBox>("base_workers").setValue(4);
  EXPECT_EQ(control<QSpinBox>("base_batch").value(), 0);
  compare();
  EXPECT_TRUE(shell_line(rates(), "lr").endsWith("--base-workers 4"));
}

TEST_F(LearningRateEquality, AtOtherWorkerCounts) {
  control<QLineEdit>("list").setText("3, 96");
  control<QSpinBox>("workers").setValue(24);
  compare();
}

TEST_F(LearningRateEquality, WithEverythingEdited) {
  wait();
  control<QDoubleSpinBox>("base_lr").setValue(0.3);
  control<QSpinBox>("batch").setValue(48);
  control<QSpinBox>("epochs").setValue(11);
  control<QDoubleSpinBox>("warmup_epochs").setValue(0.7);
  rates().findChild<QCheckBox*>()->setChecked(true);
  control<QDoubleSpinBox>("target_loss").setValue(1.3);
  compare();
}

// A file without a scenario: the command has what the user typed, and prints what the page shows.
TEST_F(LearningRateEquality, OfARecording) {
  const auto reopen = [&](const std::string& options) {
    store::Database::open_write(path("run one.db"))
        .sql()
        .exec("DELETE FROM scenario; UPDATE measurement SET options = '" + options + "'");
    open("run one.db");
  };
  const auto compare_all = [&] {
    wait();
    const Texts page = shown(rates());
    Texts shell = tables_of(printed(shell_line(rates(), "lr")));
    for (const auto& [name, text] : shell) expect_shown(page, name, text);
    return shell;
  };
  reopen("{\"optimizer\": \"SGD\", \"learning_rate\": 0.0123456789}");
  const Texts opened = compare_all();
  for (const char* name : {"learning_rate", "learning_rate_rules", "large_batches", "gradient_noise"})
    EXPECT_TRUE(opened.contains(name)) << name;
  control<QLineEdit>("given_samples").setText("5000");
  compare_all();  // no command with one of the two
  control<QLineEdit>("given_epochs").setText("7");
  control<QLineEdit>("given_batch").setText("48");
  control<QLineEdit>("given_base").setText("0.3");
  control<QSpinBox>("workers").setValue(24);
  const Texts stated = compare_all();
  for (const char* name : {"warmup", "training_time", "learning_rate_schedules", "target_cost"})
    EXPECT_TRUE(stated.contains(name)) << name;
  control<QLineEdit>("given_warmup").setText("0.7");
  control<QLineEdit>("given_base_batch").setText("96");
  control<QLineEdit>("given_accumulation").setText("2");
  control<QComboBox>("given_optimizer").setCurrentIndex(2);
  compare_all();
  reopen("{}");
  EXPECT_TRUE(compare_all().contains("rate_choice")) << "factors of the tuned rate";
}

class FitEquality : public Equality {
 protected:
  FitPage& fits() { return page<FitPage>(); }
  // Selects each model in turn: the page shows the rows of one model, the report shows all.
  void compare() {
    const Texts fit = tables_of(printed("ddpprof report " + quoted("run one.db") + " --report fit"));
    const Texts comm = tables_of(printed("ddpprof report " + quoted("run one.db") + " --report comm"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return shown(fits()).contains("comm"); }, test::patience_ms));
    const Texts page = shown(fits());
    expect_shown(page, "comm", comm.at("comm"));
    expect_shown(page, "fit", fit.at("fit"));
    for (const std::string name : {"fit_parameters", "fit_residuals"}) {
      std::multiset<std::string> rows;
      std::string heading;
      auto* models = fits().findChild<QComboBox*>();
      for (int i = 0; i < models->count(); ++i) {
        models->setCurrentIndex(i);
        const auto lines = QString::fromStdString(shown(fits()).at(name)).split("\r\n", Qt::SkipEmptyParts);
        heading = lines.front().toStdString();
        for (const QString& line : lines.mid(1)) rows.insert(line.toStdString());
      }
      const auto lines = QString::fromStdString(fit.at(name)).split("\r\n", Qt::SkipEmptyParts);
      EXPECT_EQ(heading, lines.front().toStdString());
      std::multiset<std::string> printed_rows;
      for (const QString& line : lines.mid(1)) printed_rows.insert(line.toStdString());
      EXPECT_EQ(rows, printed_rows) << name;
    }
  }
};

TEST_F(FitEquality, OfTheFilesOwnFits) {
  {
    store::Database database = store::Database::open_write(path("run one.db"));
    fit::write_fits(database, fit::fit_database(database));
  }
  open("run one.db");
  compare();
}

// With one measurement per configuration, report skew pools nothing, so its columns equal the page's.
TEST_F(Equality, MediansByRankAreThoseOfTheReport) {
  test::write_run(path("once.db"));
  open("once.db");
  auto& ranks = page<RanksPage>();
  ASSERT_TRUE(QTest::qWaitFor([&] { return shown(ranks).contains("ranks"); }, test::patience_ms));
  const auto cells = [](const std::string& text) {
    std::vector<std::map<QString, QString>> rows;
    const auto lines = QString::fromStdString(text).split("\r\n", Qt::SkipEmptyParts);
    const auto names = lines.front().split(',');
    for (const QString& line : lines.mid(1)) {
      const auto values = line.split(',');
      EXPECT_EQ(values.size(), names.size()) << line.toStdString();
      for (rows.emplace_back(); const QString& name : names) rows.back()[name] = values[names.indexOf(name)];
    }
    return rows;
  };
  const auto page_rows = cells(shown(ranks).at("ranks"));
  ASSERT_EQ(page_rows.size(), 4U) << "one a rank";
  const Texts report = tables_of(printed("ddpprof report " + quoted("once.db") + " --report skew"));
  ASSERT_TRUE(report.contains("skew"));
  std::size_t found = 0;
  for (const auto& row : cells(report.at("skew"))) {
    if (row.at("strategy") != "ddp" || row.at("workers") != "4")
      continue;  // the page starts with the measurement with the most ranks
    ASSERT_LT(found, page_rows.size());
    for (const auto& [name, value] : page_rows[found++]) {
      if (!row.contains(name) || name == "table") continue;
      EXPECT_EQ(value.toStdString(), row.at(name).toStdString()) << name.toStdString();
    }
  }
  EXPECT_EQ(found, page_rows.size());
}

TEST_F(Equality, WhatIsDoubtful) {
  const Texts page = shown(window.diagnostics());
  const Texts report = tables_of(printed("ddpprof report " + quoted("run one.db") + " --report summary"));
  ASSERT_TRUE(report.contains("notices"));
  expect_shown(page, "notices", report.at("notices"));
}

TEST_F(Equality, TwoFilesCompared) {
  test::write_run(path("two.db"), 2, 1.3);
  auto& runs = page<RunsPage>();
  auto& panel = *runs.findChild<ComparePanel*>();
  panel.set_a(QString::fromStdString(path("run one.db").string()));
  panel.set_b(QString::fromStdString(path("two.db").string()));
  panel.compare();
  ASSERT_TRUE(QTest::qWaitFor([&] { return !panel.running() && panel.shown() != nullptr; }, test::patience_ms));
  const Texts page = shown(panel);
  const std::string all = printed("ddpprof compare " + quoted("run one.db") + " " + quoted("two.db"));
  const Texts shell = tables_of(all);
  for (const auto& [name, text] : shell) expect_shown(page, name, text);
  for (const char* name : {"compare_answer", "compare_files", "compare_time", "compare_throughput"}) {
    ASSERT_TRUE(shell.contains(name)) << name;
    EXPECT_GT(std::count(shell.at(name).begin(), shell.at(name).end(), '\n'), 1) << name << " has no rows";
  }
}

}  // namespace
}  // namespace ddpprof::gui
