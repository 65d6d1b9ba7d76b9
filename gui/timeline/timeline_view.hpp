// The timeline widget: shows a loaded timeline; mouse and keys move, search and select in it.
#pragma once

#include <QAbstractScrollArea>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/timeline/tracks.hpp"
#include "gui/timeline/painter.hpp"

namespace ddpprof::gui {

class TimelineView : public QAbstractScrollArea {
  Q_OBJECT

 public:
  explicit TimelineView(QWidget* parent = nullptr);

  // If it is a more complete timeline of the same measurement, the view, the focus and collapsed ranks stay.
  void set_timeline(std::shared_ptr<const timeline::Timeline> timeline);
  const std::shared_ptr<const timeline::Timeline>& timeline() const { return timeline_; }

  const Axis& axis() const { return axis_; }  // of the area of the events
  const Layout& layout() const { return layout_; }
  double area_width() const;                      // of the area of the events, in pixels
  QPoint area_origin() const;                     // its upper left corner in the viewport
  QRect rect_of(timeline::EventRef event) const;  // in the viewport; empty if the event is hidden or out of view

  const std::optional<timeline::EventRef>& focus() const { return focus_; }
  void set_focus(std::optional<timeline::EventRef> event, bool reveal = true);
  // Focuses the event and brings it into view. Zooms only if it would be too narrow to read or would not fit.
  void go_to(timeline::EventRef event);
  // On rank 0's clock. set_range emits no signal.
  const std::optional<std::pair<std::int64_t, std::int64_t>>& range() const { return range_; }
  void set_range(std::optional<std::pair<std::int64_t, std::int64_t>> range);
  void set_hits(std::vector<bool> matches, std::vector<timeline::EventRef> hits);
  const std::vector<timeline::EventRef>& hits() const { return hits_; }
  void set_flows(bool shown);
  // A focus on a row that becomes hidden is removed. Focusing a hidden raw event shows raw events again.
  void set_raw(bool shown);
  bool raw() const { return options_.raw; }
  bool select_mode() const { return select_mode_; }
  void set_select_mode(bool on);
  bool collapsed(std::uint32_t rank) const;
  void set_collapsed(std::uint32_t rank, bool collapsed);

  void show_all();
  void show_range(std::int64_t begin_ns, std::int64_t end_ns);
  void show_exactly(double left_ns, double right_ns);   // since the timeline's begin; without a margin
  QString text_at(const QPoint& viewport_point) const;  // the tooltip; "" if there is nothing
  const Scene& scene();                                 // the scene that would be painted now
  QSize sizeHint() const override { return {900, 420}; }

  // Save the visible part as a picture. Throw std::runtime_error, naming the file, if it cannot be written.
  void save_png(const QString& path, double scale = 2.0);
  void save_svg(const QString& path);

 public slots:
  void copy_picture();
  void ask_and_save();  // opens a dialog; PNG or SVG by file extension

 signals:
  void view_changed();  // another part of the timeline is in view
  void focus_changed();
  void range_chosen(qint64 begin_ns, qint64 end_ns);
  void range_cleared();
  void select_mode_changed(bool on);
  void raw_changed(bool shown);
  void status_message(const QString& message);

 protected:
  void paintEvent(QPaintEvent*) override;
  void resizeEvent(QResizeEvent*) override;
  void wheelEvent(QWheelEvent*) override;
  void mousePressEvent(QMouseEvent*) override;
  void mouseMoveEvent(QMouseEvent*) override;
  void mouseReleaseEvent(QMouseEvent*) override;
  void mouseDoubleClickEvent(QMouseEvent*) override;
  void keyPressEvent(QKeyEvent*) override;
  void focusInEvent(QFocusEvent*) override;
  void focusOutEvent(QFocusEvent*) override;
  void changeEvent(QEvent*) override;
  bool viewportEvent(QEvent*) override;

 private:
  enum class Drag { none, maybe_pan, pan, select };
  double span_ns() const;
  double since_begin(std::int64_t ns) const;
  std::int64_t absolute(double ns) const;
  void set_axis(const Axis& axis);
  void lay_out();
  void keep_focus_in_sight();
  void unhide(timeline::EventRef event);
  void describe_focus();
  QPixmap picture(double scale);
  void restyle();
  void click(const QPoint& point);
  void zoom(double x, double factor);
  void pan(double dx);
  void step_focus(int by);  // to the next or previous event of the row
  void step_line(int by);   // to the nearest event of the next or previous line
  bool focus_in_view();     // without a focus, focuses the first visible event
  void choose_range(double from_ns, double to_ns);
  std::pair<std::int64_t, std::int64_t> range_ends() const;  // the fixed end, the end that the keys move
  void move_range_end(std::int64_t to_ns);
  bool range_key(int key, bool by_event);
  std::optional<Hit> hit_at(const QPoint& point) const;
  bool view_key(int key);
  bool focus_key(int key, bool ctrl);

  std::shared_ptr<const timeline::Timeline> timeline_;
  TimelinePainter painter_;
  Scene scene_;
  Layout layout_;
  LayoutOptions options_;
  Axis axis_;
  bool moved_ = false;  // the user moved the view; until then all is shown at any size
  std::optional<timeline::EventRef> focus_;
  std::optional<std::pair<std::int64_t, std::int64_t>> range_;
  bool range_end_moves_ = true;  // true: the keys move the range's end; false: its begin
  std::vector<bool> matches_;
  std::vector<timeline::EventRef> hits_;
  bool flows_ = true, select_mode_ = false;
  Drag drag_ = Drag::none;
  QPoint pressed_, last_;
  double pressed_ns_ = 0.0;
};

}  // namespace ddpprof::gui
