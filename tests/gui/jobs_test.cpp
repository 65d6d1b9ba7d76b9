#include "gui/models/jobs.hpp"

#include <gtest/gtest.h>

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QSemaphore>
#include <QTest>
#include <QThread>
#include <memory>

namespace ddpprof::gui {
namespace {

TEST(Job, DeliversItsAnswerOnTheOwnersThread) {
  QObject owner;
  Job job(&owner);
  int answer = 0;
  QThread* on = nullptr;
  QThread* worked_on = nullptr;
  job.start(
      [&](const Cancelled&) {
        worked_on = QThread::currentThread();
        return 42;
      },
      [&](int value) {
        answer = value;
        on = QThread::currentThread();
      },
      nullptr);
  EXPECT_TRUE(job.running());
  ASSERT_TRUE(QTest::qWaitFor([&] { return answer == 42; }, 5000));
  EXPECT_EQ(on, QThread::currentThread());
  EXPECT_NE(worked_on, QThread::currentThread());
  EXPECT_FALSE(job.running());
}

TEST(Job, ANewerStartDropsTheOlderAnswer) {
  QObject owner;
  QThreadPool pool;
  pool.setMaxThreadCount(2);
  Job job(&owner, &pool);
  QSemaphore begun, release;
  std::vector<int> answers;
  bool was_cancelled = false;
  job.start(
      [&](const Cancelled& cancelled) {
        begun.release();
        release.acquire();
        was_cancelled = cancelled();
        return 1;
      },
      [&](int value) { answers.push_back(value); }, nullptr);
  ASSERT_TRUE(begun.tryAcquire(1, 5000));
  job.start([](const Cancelled&) { return 2; }, [&](int value) { answers.push_back(value); }, nullptr);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !answers.empty(); }, 5000));
  release.release();
  ASSERT_TRUE(pool.waitForDone(5000));
  QCoreApplication::processEvents();
  EXPECT_EQ(answers, std::vector<int>{2});
  EXPECT_TRUE(was_cancelled) << "the older work is cancelled";
}

TEST(Job, AnAnswerAlreadyOnItsWayIsDroppedByCancel) {
  QObject owner;
  QThreadPool pool;
  Job job(&owner, &pool);
  int answers = 0;
  job.start([](const Cancelled&) { return 1; }, [&](int) { ++answers; }, nullptr);
  ASSERT_TRUE(pool.waitForDone(5000));  // queued, not yet delivered
  job.cancel();
  QCoreApplication::processEvents();
  EXPECT_EQ(answers, 0);
  EXPECT_FALSE(job.running());
}

TEST(Job, ReportsTheTextOfAnException) {
  QObject owner;
  Job job(&owner);
  std::string said;
  job.start([](const Cancelled&) -> int { throw std::runtime_error("no such file"); },
            [](int) { FAIL() << "no answer was expected"; }, [&](const std::string& why) { said = why; });
  ASSERT_TRUE(QTest::qWaitFor([&] { return !said.empty(); }, 5000));
  EXPECT_EQ(said, "no such file");
}

TEST(Job, DeliversNothingToADestroyedOwner) {
  QThreadPool pool;
  QSemaphore release;
  int answers = 0;
  {
    QObject owner;
    auto* job = new Job(&owner, &pool);
    job->start(
        [&](const Cancelled&) {
          release.acquire();
          return 1;
        },
        [&](int) { ++answers; }, nullptr);
  }
  release.release();
  ASSERT_TRUE(pool.waitForDone(5000));
  QCoreApplication::processEvents();
  EXPECT_EQ(answers, 0);
}

}  // namespace
}  // namespace ddpprof::gui
