// A window over a file, the tables it shows as it copies them, and the output of the real ddpprof.
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QFileInfo>
#include <QProcess>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <map>

#include "gui/widgets/table_view.hpp"
#include "gui/window/main_window.hpp"
#include "tests/analysis/fit/synthetic.hpp"
#include "tracer/store/database.hpp"
#include "tracer/store/rows/inserter.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::gui::test {

inline constexpr int patience_ms = 60'000;

using Texts = std::map<std::string, std::string>;  // name of a table → its CSV

inline constexpr const char* scenario_text =
    "name: equal\n"
    "workload:\n"
    "  model: {kind: mlp, widths: [784, 10, 10, 10]}\n"
    "  data: {samples: 10000}\n"
    "  batch_per_worker: 32\n"
    "strategies: [ddp, dp]\n"
    "workers: [1, 2, 4]\n"
    "predict: {workers: [8, 16], confidence: 0.8}\n"
    "learning_rate: {base: 0.0123456789, warmup_epochs: 2.5, epochs: 7, decay: cosine}\n";

// ddp at N = 1, 2, 4 and dp at 1, 2, with a scenario. `speed` gives another file with other steps.
inline void write_run(const std::filesystem::path& path, int repeats = 1, double speed = 1.0) {
  store::Database database = store::Database::create(path);
  store::Inserter<store::ScenarioRow>(database).insert({1, "equal", "equal.yaml", scenario_text, scenario_text});
  fit::synthetic::Truth truth;
  truth.noise = 0.02;
  truth.steps = 40;  // enough for an interval of the noise scale
  truth.own_hosts = true;
  truth.alpha_s = 300e-6;
  truth.beta_s_per_byte = 4e-9;
  truth.speed = speed;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    truth.speed = speed * (1.0 + 0.03 * repeat);
    SQLite::Statement before(database.sql(), "SELECT COUNT(*) FROM measurement");
    before.executeStep();
    const std::int64_t last = before.getColumn(0).getInt64();
    before.reset();
    fit::synthetic::add_ddp(database, truth, {1, 2, 4}, static_cast<std::uint64_t>(1 + 2 * repeat));
    fit::synthetic::add_dp(database, truth, {1, 2}, static_cast<std::uint64_t>(2 + 2 * repeat));
    database.sql().exec("UPDATE measurement SET repeat = " + std::to_string(repeat) + " WHERE id > " +
                        std::to_string(last));
  }
  fit::synthetic::add_bench(database, truth, {2, 4});
  store::DiagnosticRow lost;
  lost.measurement_id = 2;
  lost.severity = "error";
  lost.code = "shard_full";
  lost.count = 3;
  lost.message = "events were dropped, \"some\" of them";
  lost.advice = "Trace fewer steps.";
  lost.rank = 1;
  store::Inserter<store::DiagnosticRow>(database).insert(lost);
  database.sql().exec(
      "UPDATE step SET loss = 2.3 - 0.001 * step * step / (1 + shard_id), learning_rate = 0.0123456789 + 0.001 * (step "
      "= 5); UPDATE step SET local_gradient_sqr = 20 + (step * 7919 % 13) * 0.1, gradient_sqr = 12 + (step * 104729 % "
      "7) "
      "* 0.1 WHERE kind = 'measured' AND shard_id IN (SELECT sh.id FROM shard sh JOIN measurement m ON m.id = "
      "sh.measurement_id WHERE m.strategy = 'ddp' AND m.world_size > 1)");
  database.finish_load();
}

// Copies the table with the menu's action.
inline std::string copied(TableView& view) {
  for (QAction* action : view.actions())
    if (action->text().contains("CS&V")) {
      QApplication::clipboard()->clear();
      action->trigger();
      return QApplication::clipboard()->text().toStdString();
    }
  ADD_FAILURE() << "a table without an action that copies it as CSV";
  return "";
}

// All tables of a page.
inline Texts shown(const QWidget& page) {
  Texts texts;
  for (TableView* view : page.findChildren<TableView*>()) {
    const report::Table& table = view->model_of_table().table();
    if (!table.name.empty()) texts[table.name] = copied(*view);
  }
  return texts;
}

// Splits a printed report into its tables, which are separated by an empty line.
inline Texts tables_of(const std::string& printed) {
  constexpr const char* between = "\r\n\r\ntable,";
  Texts texts;
  for (std::size_t at = 0; at < printed.size();) {
    const std::size_t next = printed.find(between, at);
    const std::size_t end = next == std::string::npos ? printed.size() : next + 2;
    const std::string text = printed.substr(at, end - at);
    const std::size_t rows = text.find("\r\n") + 2;
    // A table without rows prints no name, so each heading occurs at most once among such tables.
    const std::string name = rows >= text.size() ? "empty: " + text : text.substr(rows, text.find(',', rows) - rows);
    EXPECT_FALSE(texts.contains(name)) << name;
    texts[name] = text;
    at = next == std::string::npos ? printed.size() : next + 4;
  }
  return texts;
}

// Runs the command line in a shell, with `ddpprof` replaced by the program that was built.
inline std::string printed(const QString& line) {
  QProcess shell;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  environment.insert("PATH", QFileInfo(DDPPROF_BUILT_PROGRAM).path() + ":" + environment.value("PATH"));
  shell.setProcessEnvironment(environment);
  shell.start("/bin/sh", {"-c", line + " --format csv"});
  EXPECT_TRUE(shell.waitForFinished(patience_ms)) << line.toStdString();
  EXPECT_EQ(shell.exitCode(), 0) << line.toStdString() << "\n" << shell.readAllStandardError().toStdString();
  return shell.readAllStandardOutput().toStdString();
}

// The printed table must be on the page, byte for byte.
inline void expect_shown(const Texts& page, const std::string& name, const std::string& text) {
  if (name.starts_with("empty: ")) {
    for (const auto& [other, its] : page)
      if (its == text) return;
    ADD_FAILURE() << "the page has no table " << name;
    return;
  }
  ASSERT_TRUE(page.contains(name)) << name << " is printed but not shown";
  EXPECT_EQ(page.at(name), text) << name;
}

class Equality : public testing::Test {
 protected:
  void SetUp() override {
    write_run(path("run one.db"), 2);
    window.resize(1400, 900);
    window.show();
    open("run one.db");
  }
  void open(const std::string& name) {
    QSignalSpy opened(&window, &MainWindow::opened);
    window.open(QString::fromStdString(path(name).string()));
    ASSERT_TRUE(opened.wait(patience_ms));
  }

  // The path has a space, so the shown commands must quote it.
  std::filesystem::path path(const std::string& name) const {
    return std::filesystem::path(folder.path().toStdString()) / name;
  }
  QString quoted(const std::string& name) const { return "'" + QString::fromStdString(path(name).string()) + "'"; }

  template <class PageType>
  PageType& page() {
    for (Page* one : window.pages())
      if (auto* found = dynamic_cast<PageType*>(one)) {
        window.show_page(found->title().remove('&'));
        return *found;
      }
    throw std::logic_error("the window has no such page");
  }

  QTemporaryDir folder;
  MainWindow window;
};

}  // namespace ddpprof::gui::test
