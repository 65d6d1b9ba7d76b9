// Reads the timeline of one measurement off the interface thread. The page and the range's statistics share it.
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

  void set_file(std::filesystem::path path);  // drops the present timeline; an empty path means no file
  // Drops the present timeline and starts to read this measurement. Does nothing if the last request was for the same
  // measurement, also after cancel() or an error. Empty, or without a file: stops reading and drops the timeline.
  void request(std::optional<std::int64_t> measurement);
  // Stops reading; what was read (steps and collectives) stays.
  void cancel();
  // Reads again after a cancel or an error.
  void retry();

  const std::shared_ptr<const timeline::Timeline>& timeline() const { return timeline_; }
  const std::filesystem::path& path() const { return path_; }
  std::optional<std::int64_t> measurement() const { return measurement_; }
  bool loading() const { return job_.running(); }
  bool was_cancelled() const { return cancelled_; }
  const QString& error() const { return error_; }
  double progress() const { return progress_ ? progress_->load() : 0.0; }  // share of the raw rows, 0 to 1

 signals:
  void changed();  // another timeline, more of the same one, or an error
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
  std::uint64_t reading_id_ = 0;  // number of the present reading; a result of an older one is dropped
  bool cancelled_ = false;
  QString error_;
};

}  // namespace ddpprof::gui
