// Long work off the interface thread: each job carries an id, can be cancelled, and a stale result is dropped.
//
// A Job is one place for an answer ("the curve shown", "the file being opened"): starting it again cancels what runs
// there, and only the newest start's answer arrives. Answers arrive on the thread of the Job's owner; none after the
// owner is gone. The work must not touch widgets; it gets a Cancelled that it asks now and then.
#pragma once

#include <QObject>
#include <QPointer>
#include <QThreadPool>
#include <atomic>
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
  ~Job() override;  // cancels; does not wait

  // work(const Cancelled&) runs on the pool; done(its result) or failed(what the exception said) on this thread, unless
  // a later start() or cancel() came first. Returns the job's id, from 1 on.
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
  static int running_now();  // Jobs of the whole program whose answer has not come yet

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
