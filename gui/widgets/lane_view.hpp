// The widget for one step's lanes. Shows the values of the segment under mouse or keyboard, zooms together with a
// second view, and saves PNG or SVG.
#pragma once

#include <QWidget>
#include <optional>

#include "gui/widgets/lane_layout.hpp"

namespace ddpprof::gui {

class LaneView : public QWidget {
  Q_OBJECT

 public:
  explicit LaneView(QWidget* parent = nullptr);

  // `title` is shown above the lanes. `name` is the file name of a saved picture, without extension.
  void set_lanes(step::StepLanes lanes, const QString& title, const QString& name);
  // Shows a message instead of lanes: the reason, and what to do.
  void set_message(const QString& title, const QString& message);
  const std::optional<step::StepLanes>& lanes() const { return lanes_; }
  const QString& message() const { return message_; }
  const QString& title() const { return title_; }

  // The largest visible window and the present one. Give two views the same values for a common time axis.
  void set_whole(TimeWindow whole);
  void set_window(TimeWindow window);
  // The least room for the lanes' names in characters: the longest name of both views.
  void set_label_characters(std::size_t count);
  std::size_t longest_name() const;
  TimeWindow whole() const { return whole_; }
  TimeWindow window() const { return window_; }

  LaneLayout current_layout() const;
  std::optional<PlacedSegment> focused() const;
  // "backward: 12.3 ms, from 4.1 ms to 16.4 ms, 1.2 MiB"
  QString describe(std::size_t lane, std::size_t segment) const;

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;

  // Throw std::runtime_error, naming the file, if it cannot be written.
  void save_png(const QString& path, double scale = 2.0);
  void save_svg(const QString& path);

 public slots:
  void copy_picture();
  void ask_and_save();

 signals:
  void window_changed(ddpprof::gui::TimeWindow window);  // by the user
  void segment_focused(const QString& description);
  void status_message(const QString& message);

 protected:
  void paintEvent(QPaintEvent*) override;
  void keyPressEvent(QKeyEvent*) override;
  void wheelEvent(QWheelEvent*) override;
  void mousePressEvent(QMouseEvent*) override;
  void contextMenuEvent(QContextMenuEvent*) override;
  void focusInEvent(QFocusEvent*) override;
  void changeEvent(QEvent*) override;
  bool event(QEvent*) override;

 private:
  QPixmap picture(double scale);
  LaneMetrics metrics() const;
  void paint(QPainter&, bool with_focus);
  void focus_segment(std::size_t lane, std::size_t segment);
  void step_segment(int by);
  void step_lane(int by);
  void change_window(TimeWindow window);

  std::optional<step::StepLanes> lanes_;
  QString title_, message_, name_ = QStringLiteral("lanes");
  TimeWindow whole_, window_;
  std::size_t label_characters_ = 0;
  std::optional<std::pair<std::size_t, std::size_t>> focus_;  // lane, segment
};

}  // namespace ddpprof::gui
