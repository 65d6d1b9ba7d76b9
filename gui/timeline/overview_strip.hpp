// A strip above the timeline: how busy the devices are over the whole measurement, and the part that is in view.
#pragma once

#include <QWidget>
#include <memory>
#include <optional>

#include "analysis/timeline/utilisation.hpp"
#include "gui/models/jobs.hpp"

namespace ddpprof::gui {

// Dragging the part in view moves it, dragging one of its sides changes it, and dragging elsewhere selects another
// part. The keys of the timeline do the same.
class OverviewStrip : public QWidget {
  Q_OBJECT

 public:
  explicit OverviewStrip(QWidget* parent = nullptr);

  void set_timeline(std::shared_ptr<const timeline::Timeline>);
  void set_view(double left_ns, double right_ns);  // since the timeline's begin
  void set_gutter(int pixels);                     // width of the label, as in the timeline below
  const std::optional<timeline::Utilisation>& shown() const { return utilisation_; }
  QRectF view_box() const;  // the part in view
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 signals:
  void view_requested(double left_ns, double right_ns);

 protected:
  void paintEvent(QPaintEvent*) override;
  void resizeEvent(QResizeEvent*) override;
  void mousePressEvent(QMouseEvent*) override;
  void mouseMoveEvent(QMouseEvent*) override;
  void mouseReleaseEvent(QMouseEvent*) override;

 private:
  enum class Drag { none, move, left, right, fresh };
  double span_ns() const;
  double x_of(double ns) const;
  double ns_of(double x) const;
  Drag drag_at(double x) const;
  void compute();

  std::shared_ptr<const timeline::Timeline> timeline_;
  std::optional<timeline::Utilisation> utilisation_;
  Job job_;
  double left_ns_ = 0.0, right_ns_ = 1.0;
  int gutter_ = 0;
  Drag drag_ = Drag::none;
  double pressed_ns_ = 0.0, pressed_left_ns_ = 0.0, pressed_right_ns_ = 0.0;
};

}  // namespace ddpprof::gui
