#include "gui/models/jobs.hpp"

#include <QCoreApplication>
#include <QMetaObject>

namespace ddpprof::gui {
namespace {

int running_jobs = 0;  // used from the interface thread only, like every Job

}  // namespace

Job::Job(QObject* owner, QThreadPool* pool) : QObject(owner), pool_(pool) {}

Job::~Job() {
  cancelled_.set();
  if (running_) --running_jobs;
}

int Job::running_now() { return running_jobs; }

void Job::cancel() {
  cancelled_.set();
  set_running(false);
}

void Job::set_running(bool running) {
  if (running_ == running) return;
  running_ = running;
  running_jobs += running ? 1 : -1;
  emit running_changed(running);
}

void Job::run_on_pool(std::function<void()> work) { pool_->start(std::move(work)); }

// A QPointer may be read only on the thread of its object. So the call goes to the application's thread, where every
// Job lives, and `call` checks there whether its Job still exists.
void Job::deliver(const QPointer<Job>&, std::function<void()> call) {
  if (QCoreApplication* application = QCoreApplication::instance())
    QMetaObject::invokeMethod(application, std::move(call), Qt::QueuedConnection);
}

}  // namespace ddpprof::gui
