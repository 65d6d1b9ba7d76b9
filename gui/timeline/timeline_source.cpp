#include "gui/timeline/timeline_source.hpp"

#include <QCoreApplication>
#include <QPointer>
#include <QTimer>

#include "analysis/timeline/load.hpp"

namespace ddpprof::gui {

TimelineSource::TimelineSource(QObject* parent) : QObject(parent), job_(this), timer_(new QTimer(this)) {
  timer_->setInterval(50);
  connect(timer_, &QTimer::timeout, this, [this] { emit progressed(progress()); });
  connect(&job_, &Job::running_changed, this, [this](bool running) {
    running ? timer_->start() : timer_->stop();
    emit loading_changed(running);
  });
}

void TimelineSource::set_file(std::filesystem::path path) {
  ++reading_id_;
  job_.cancel();
  path_ = std::move(path);
  measurement_.reset();
  timeline_.reset();
  error_.clear();
  cancelled_ = false;
  emit changed();
}

void TimelineSource::request(std::optional<std::int64_t> measurement) {
  if (path_.empty()) measurement.reset();
  if (measurement == measurement_) return;
  ++reading_id_;
  job_.cancel();
  measurement_ = measurement;
  timeline_.reset();
  error_.clear();
  cancelled_ = false;
  if (measurement_) start();
  emit changed();
}

void TimelineSource::cancel() {
  if (!job_.running()) return;
  ++reading_id_;
  cancelled_ = true;
  job_.cancel();
  emit changed();
}

void TimelineSource::retry() {
  if (!measurement_ || job_.running()) return;
  ++reading_id_;
  error_.clear();
  cancelled_ = false;
  start();
  emit changed();
}

void TimelineSource::start() {
  progress_ = std::make_shared<std::atomic<double>>(0.0);
  using Answer = std::shared_ptr<const timeline::Timeline>;
  job_.start(
      [path = path_, measurement = *measurement_, progress = progress_, reading_id = reading_id_,
       self = QPointer<TimelineSource>(this)](const Cancelled& cancelled) -> Answer {
        timeline::LoadHooks hooks;
        hooks.cancelled = cancelled;
        hooks.progress = [progress](double share) { progress->store(share); };
        hooks.first = [self, reading_id, cancelled](Answer first) {
          if (cancelled() || QCoreApplication::instance() == nullptr) return;
          // The QPointer may be read on the interface thread only.
          QMetaObject::invokeMethod(
              QCoreApplication::instance(),
              [self, reading_id, first = std::move(first)] {
                if (self.isNull() || self->reading_id_ != reading_id) return;
                self->timeline_ = first;
                emit self->changed();
              },
              Qt::QueuedConnection);
        };
        return timeline::load(path, measurement, hooks);
      },
      [this](Answer answer) {
        if (!answer) return;
        ++reading_id_;
        timeline_ = std::move(answer);
        emit changed();
      },
      [this](const std::string& why) {
        error_ = QString::fromStdString(why);
        emit changed();
      });
}

}  // namespace ddpprof::gui
