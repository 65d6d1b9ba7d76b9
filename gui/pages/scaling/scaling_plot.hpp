// The plot of the scaling page: measured points, the prediction and a changed prediction over N.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "gui/models/scaling/snapshot.hpp"
#include "gui/plots/regions.hpp"
#include "gui/plots/series.hpp"

namespace ddpprof::gui::whatif {

class ScalingPlot : public Plot {
  Q_OBJECT

 public:
  enum class View { throughput, speedup, efficiency, step, split };  // split: parts of the step, stacked

  explicit ScalingPlot(QWidget* parent = nullptr);

  void set_view(View);
  View view() const { return view_; }
  void set_logarithmic(bool);
  // Draws at the next paint event; replot() draws at once.
  void show_snapshot(const Snapshot&);
  void show_nothing();

  // Returns the values at an N that is drawn, one per line. Returns "" if nothing is drawn there.
  QString reading(std::int64_t workers) const;
  std::optional<std::int64_t> crosshair_workers() const;          // the N under the mouse
  QRectF crosshair_box() const { return crosshair_.text_box(); }  // of its values, in pixels
  std::int64_t nearest_drawn(double x) const;

  // The drawn elements, for tests.
  const BandedLine& predicted() const { return predicted_; }
  BandedLine& predicted() { return predicted_; }
  BandedLine& changed() { return changed_; }
  ErrorPoints& measured() { return measured_; }
  StackedAreas& stack() { return copies_ ? dp_stack_ : ddp_stack_; }
  StackedBars& bars() { return copies_ ? dp_bars_ : ddp_bars_; }  // measured parts at each measured N
  QCPGraph* ideal() { return ideal_; }
  const Region& region(std::size_t i) const { return regions_[i]; }  // ascending by share
  const Region& far() const { return far_; }
  const Region& wide() const { return wide_; }
  std::vector<QRectF> label_boxes() const;  // of the visible labels of regions and of the selected N, in pixels

 signals:
  void workers_picked(qint64 workers);  // by a click or a key

 protected:
  void mouseMoveEvent(QMouseEvent*) override;
  void mouseReleaseEvent(QMouseEvent*) override;
  void leaveEvent(QEvent*) override;
  void keyPressEvent(QKeyEvent*) override;

 private:
  static std::vector<StackPart> parts_of_step(bool copies);
  Quantity quantity() const;
  QStringList reading_of_parts(std::int64_t workers) const;
  void draw_all();
  void draw_lines(Quantity);
  void draw_split();
  void draw_regions();
  void draw_chosen();
  void make_room();
  void scale_values(Quantity, bool from_zero);
  void place_crosshair(std::int64_t workers);
  void step_along(int by);
  void restyle_all();
  void restyle_predicted();

  View view_ = View::throughput;
  bool log_n_ = true;
  bool copies_ = false;
  std::optional<Snapshot> shot_;
  std::array<Region, 3> regions_;
  Region wide_, far_;
  StackedAreas ddp_stack_, dp_stack_;
  StackedBars ddp_bars_, dp_bars_;
  QCPGraph* ideal_;
  BandedLine own_, predicted_, changed_;
  ErrorPoints measured_;
  Crosshair chosen_, crosshair_;
};

}  // namespace ddpprof::gui::whatif
