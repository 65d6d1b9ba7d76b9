// The window opens and closes files many times, and its memory does not grow.
#include <gtest/gtest.h>
#include <malloc.h>

#include <QApplication>
#include <QSignalSpy>
#include <QTest>
#include <QThreadPool>

#include "gui/models/jobs.hpp"
#include "gui/window/main_window.hpp"
#include "tests/gui/window/files.hpp"
#include "tests/sanitizers.hpp"
#include "tests/tiers.hpp"

namespace ddpprof::gui {
namespace {

std::size_t bytes_in_use() {
  const struct mallinfo2 all = mallinfo2();
  return all.uordblks + all.hblkhd;
}

TEST(Soak, ManyFilesLeakNoMemory) {
  const test::Folder folder;
  test::write_sound(folder / "a.db");
  test::write_sound(folder / "b.db");
  MainWindow window;
  window.show();
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const QSignalSpy yes(&window, &MainWindow::opened);
      window.open(QString::fromStdString((folder / (i % 2 == 0 ? "a.db" : "b.db")).string()));
      ASSERT_TRUE(QTest::qWaitFor([&] { return yes.count() > 0; }, 30'000)) << i;
      const QStringList pages = window.page_titles();
      window.show_page(pages[i % pages.size()]);  // some pages read only when they are visible
      QCoreApplication::processEvents();
      ASSERT_TRUE(QTest::qWaitFor([] { return Job::running_now() == 0; }, 30'000)) << i;
      if (i % 5 == 4) window.close_file();
    }
    window.close_file();
    QThreadPool::globalInstance()->waitForDone(30'000);
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    QCoreApplication::processEvents();
  };
  // The address sanitizer finds a leak of one round, and its allocator does not support mallinfo2.
  const bool sanitized = ddpprof::test::under_address_sanitizer();
  if (sanitized && !ddpprof::test::long_tests()) return rounds(15);
  rounds(40);  // fills the caches of fonts and icons
  const int files = ddpprof::test::long_tests() ? 160 : 80;
  const std::size_t before = bytes_in_use();
  rounds(files);
  const std::size_t after = bytes_in_use();
  if (sanitized) return;
  EXPECT_LT(static_cast<double>(after) - static_cast<double>(before), 12'500.0 * files)
      << "bytes kept by " << files << " files: " << after - before
      << "; the rows and fits of one file in ten take more than that together";
}

}  // namespace
}  // namespace ddpprof::gui
