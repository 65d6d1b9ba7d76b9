// A cancelled run is continued with one click. A script stands in for ddpprof, so that its end can be chosen.
#include <gtest/gtest.h>

#include <QFile>
#include <QFileInfo>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTest>

#include "gui/pages/runs/run_panel.hpp"
#include "gui/pages/runs/runs_page.hpp"
#include "gui/pages/runs/scenario_editor.hpp"
#include "gui/pages/runs/scenario_panel.hpp"
#include "tests/gui/runs/small_scenario.hpp"

namespace ddpprof::gui {
namespace {

constexpr int patience_ms = 30'000;

class ResumeTest : public testing::Test {
 protected:
  void SetUp() override {
    // Writes its options to a file, then a database. With --resume it ends well, otherwise it waits for SIGINT.
    write("stand-in",
          "#!/bin/sh\n"
          "echo \"$*\" >> '" +
              path("options") +
              "'\n"
              "while [ $# -gt 0 ]; do [ \"$1\" = --out ] && out=$2; [ \"$1\" = --resume ] && resume=1; shift; done\n"
              "echo x >> \"$out\"\n"
              "[ \"$resume\" ] && exit 0\n"
              "trap 'exit 130' INT\n"
              "i=0; while [ $i -lt 600 ]; do sleep 0.05; i=$((i + 1)); done\n");
    QFile::setPermissions(path("stand-in"), QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    qputenv("DDPPROF_PROGRAM", path("stand-in").toUtf8());
    page_.resize(1100, 720);
    page_.show();
    page_.scenario().editor()->setPlainText(small_scenario());
    page_.run().set_out(path("small.db"));
  }
  void TearDown() override { qunsetenv("DDPPROF_PROGRAM"); }
  QString path(const QString& name) const { return folder_.filePath(name); }
  void write(const QString& name, const QString& text) {
    QFile file(path(name));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(text.toUtf8());
  }
  QStringList options() {
    QFile file(path("options"));
    EXPECT_TRUE(file.open(QIODevice::ReadOnly));
    return QString::fromUtf8(file.readAll()).split('\n', Qt::SkipEmptyParts);
  }
  QPushButton& button() {
    for (auto* one : page_.run().findChildren<QPushButton*>())
      if (one->text() == "Resume") return *one;
    throw std::logic_error("no button Resume");
  }
  bool ended() {
    return QTest::qWaitFor([&] { return !page_.run().process().running(); }, patience_ms);
  }

  QTemporaryDir folder_;
  Selection selection_;
  RunsPage page_{selection_};
};

TEST_F(ResumeTest, ACancelledRunIsContinued) {
  EXPECT_FALSE(button().isVisible());
  ASSERT_TRUE(page_.run().run(false)) << page_.run().status().toStdString();
  ASSERT_TRUE(QTest::qWaitFor([&] { return QFileInfo::exists(path("small.db")); }, patience_ms));
  EXPECT_FALSE(button().isVisible());
  page_.run().cancel();
  ASSERT_TRUE(ended());
  EXPECT_TRUE(button().isVisible()) << page_.run().status().toStdString();
  button().click();
  ASSERT_TRUE(ended());
  const QStringList both = options();
  ASSERT_EQ(both.size(), 2);
  EXPECT_FALSE(both[0].contains("--resume"));
  EXPECT_TRUE(both[1].contains("--resume"));
  EXPECT_FALSE(both[1].contains("--overwrite")) << "finished measurements are kept";
  EXPECT_EQ(QString(both[1]).remove(" --resume"), both[0]) << "the same scenario and database";
  EXPECT_FALSE(button().isVisible()) << "the run has reached its end";
}

TEST_F(ResumeTest, ADryRunIsNotResumed) {
  ASSERT_TRUE(page_.run().run(true));
  ASSERT_TRUE(QTest::qWaitFor([&] { return QFileInfo::exists(path("options")); }, patience_ms));
  page_.run().cancel();
  ASSERT_TRUE(ended());
  EXPECT_FALSE(button().isVisible());
}

}  // namespace
}  // namespace ddpprof::gui
