// Long work off the interface thread. Each job has an id and can be cancelled; a stale result is dropped.
//
// A Job is the place of one answer ("the curve shown", "the file being opened"). A new start() cancels the work that
// runs there, and only the answer of the newest start arrives. Answers arrive on the thread of the Job's owner, and
// never after the owner is destroyed. The work must not touch widgets. It gets a Cancelled that it must check
// regularly.
#pragma once

#include <QObject>
#include <QPointer>
#include <QThreadPool>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace ddpprof::gui {

class Cancelled {
 public:
  Cancelled() : flag_(std::make_shared<std::atomic<bool>>(false)) {}
  bool operator()() const { return flag_->load(std::memory_order_relaxed); }
  void set() { flag_->store(true, std::memory_order_relaxed); }

 private:
  std::shared_ptr<std::atomic<bool>> flag_;
};

class Job : public QObject {
  Q_OBJECT

 public:
  explicit Job(QObject* owner, QThreadPool* pool = QThreadPool::globalInstance());
  ~Job() override;  // cancels, does not wait

  // Runs work(const Cancelled&) on the pool, then done(its result) or failed(text of the exception) on this thread,
  // unless a later start() or cancel() came first. Returns the job's id, counted from 1.
  template <class Work, class Done>
  std::uint64_t start(Work work, Done done, std::function<void(const std::string&)> failed) {
    cancel();
    cancelled_ = Cancelled();
    const std::uint64_t id = ++id_;
    set_running(true);
    const QPointer<Job> self(this);
    run_on_pool([self, id, work = std::move(work), done = std::move(done), failed = std::move(failed),
                 cancelled = cancelled_]() mutable {
      using Result = decltype(work(std::as_const(cancelled)));
      std::shared_ptr<Result> result;
      std::string error;
      try {
        if (!cancelled()) result = std::make_shared<Result>(work(std::as_const(cancelled)));
      } catch (const std::exception& caught) {
        error = caught.what();
      }
      if (cancelled()) return;
      deliver(self, [self, id, result, error, done = std::move(done), failed = std::move(failed)]() mutable {
        if (self.isNull() || self->id_ != id || !self->running_) return;
        self->set_running(false);
        if (result)
          done(std::move(*result));
        else if (failed)
          failed(error);
      });
    });
    return id;
  }

  void cancel();
  bool running() const { return running_; }
  std::uint64_t id() const { return id_; }
  static int running_now();  // number of Jobs in the whole program whose answer has not arrived

 signals:
  void running_changed(bool running);

 private:
  void set_running(bool running);
  void run_on_pool(std::function<void()> work);
  static void deliver(const QPointer<Job>&, std::function<void()> call);

  QThreadPool* pool_;
  Cancelled cancelled_;
  std::uint64_t id_ = 0;
  bool running_ = false;
};

}  // namespace ddpprof::gui
