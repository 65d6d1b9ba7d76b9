// The timeline of one measurement, read off the interface thread; shared by the page and the range's statistics.
#pragma once

#include <QObject>
#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>

#include "analysis/timeline/tracks.hpp"
#include "gui/models/jobs.hpp"

class QTimer;

namespace ddpprof::gui {

class TimelineSource : public QObject {
  Q_OBJECT

 public:
  explicit TimelineSource(QObject* parent = nullptr);

  void set_file(std::filesystem::path path);  // empty: none. Forgets what was read
  // Reads it unless it is read or being read; nothing forgets it.
  void want(std::optional<std::int64_t> measurement);
  // Stops reading; what is there (steps and collectives) stays.
  void cancel();
  // Reads again what was cancelled or failed.
  void retry();

  const std::shared_ptr<const timeline::Timeline>& timeline() const { return timeline_; }
  const std::filesystem::path& path() const { return path_; }
  std::optional<std::int64_t> measurement() const { return measurement_; }
  bool loading() const { return job_.running(); }
  bool was_cancelled() const { return cancelled_; }
  const QString& error() const { return error_; }
  double progress() const { return progress_ ? progress_->load() : 0.0; }  // 0 to 1, of the raw rows

 signals:
  void changed();  // another timeline, or more of the same one, or an error
  void loading_changed(bool loading);
  void progressed(double share);

 private:
  void start();

  Job job_;
  QTimer* timer_;
  std::filesystem::path path_;
  std::optional<std::int64_t> measurement_;
  std::shared_ptr<const timeline::Timeline> timeline_;
  std::shared_ptr<std::atomic<double>> progress_;
  std::uint64_t turn_ = 0;  // a first picture of an older turn is dropped
  bool cancelled_ = false;
  QString error_;
};

}  // namespace ddpprof::gui
