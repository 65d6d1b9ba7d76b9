#include "gui/pages/ranks/strip_plot.hpp"

#include <QKeyEvent>
#include <algorithm>
#include <cmath>

namespace ddpprof::gui {
namespace {

constexpr std::size_t most_ticks = 10;

// Ticks at every n-th index. The label is the rank or step number, not the index.
QSharedPointer<QCPAxisTicker> ticks_of(const std::vector<std::int64_t>& numbers) {
  const auto ticker = QSharedPointer<QCPAxisTickerText>::create();
  const std::size_t stride = std::max<std::size_t>(1, (numbers.size() + most_ticks - 1) / most_ticks);
  for (std::size_t i = 0; i < numbers.size(); i += stride)
    ticker->addTick(static_cast<double>(i), QString::number(numbers[i]));
  return ticker;
}

// A colour map spans its cells' centres plus half a cell on each side, but not if it has only one cell.
QCPRange centres_of(int cells) { return cells > 1 ? QCPRange(0.0, cells - 1.0) : QCPRange(-0.5, 0.5); }

}  // namespace

StripPlot::StripPlot(QWidget* parent)
    : Plot(parent),
      map_(new QCPColorMap(xAxis, yAxis)),
      scale_(new QCPColorScale(this)),
      cursor_(new QCPItemRect(this)) {
  set_name("ranks-by-step");
  set_axes(tr("step"), tr("rank"));
  setAccessibleName(tr("All steps by rank"));
  map_->setInterpolate(false);
  map_->setTightBoundary(false);
  plotLayout()->addElement(0, 1, scale_);
  scale_->setType(QCPAxis::atRight);
  scale_->setBarWidth(12);
  map_->setColorScale(scale_);
  auto* margins = new QCPMarginGroup(this);
  axisRect()->setMarginGroup(QCP::msBottom | QCP::msTop, margins);
  scale_->setMarginGroup(QCP::msBottom | QCP::msTop, margins);
  yAxis->setRangeReversed(true);
  xAxis->grid()->setVisible(false);
  yAxis->grid()->setVisible(false);
  cursor_->setVisible(false);
  connect(this, &Plot::restyled, this, &StripPlot::colour_in);
  colour_in();
}

void StripPlot::show_strip(RankStrip strip) {
  strip_ = std::move(strip);
  const int steps = static_cast<int>(strip_.steps.size()), ranks = static_cast<int>(strip_.ranks.size());
  map_->setVisible(steps > 0 && ranks > 0);
  factor_ = strip_.scale.factor;
  scale_->axis()->setLabel(tr("%1 [%2]").arg(to_string(strip_.quantity), QString::fromStdString(strip_.scale.unit)));
  if (map_->visible()) {
    map_->data()->setSize(steps, ranks);
    map_->data()->setRange(centres_of(steps), centres_of(ranks));
    for (int rank = 0; rank < ranks; ++rank)
      for (int step = 0; step < steps; ++step)
        map_->data()->setCell(step, rank,
                              strip_.at(static_cast<std::size_t>(rank), static_cast<std::size_t>(step)) / factor_);
    const double low = strip_.low / factor_, high = strip_.high / factor_;
    const double margin = high > low ? 0.0 : std::max(1e-9, 0.01 * std::abs(high));
    map_->setDataRange({low - margin, high + margin});
  }
  xAxis->setTicker(ticks_of(strip_.steps));
  yAxis->setTicker(ticks_of(strip_.ranks));
  xAxis->setRange(-0.5, std::max(0.5, steps - 0.5));
  yAxis->setRange(-0.5, std::max(0.5, ranks - 0.5));
  rank_ = step_ = -1;
  if (map_->visible())
    set_cursor(0, 0);
  else
    draw_cursor();
}

void StripPlot::set_cursor(int rank, int step) {
  if (strip_.values.empty()) return;
  rank = std::clamp(rank, 0, static_cast<int>(strip_.ranks.size()) - 1);
  step = std::clamp(step, 0, static_cast<int>(strip_.steps.size()) - 1);
  if (rank == rank_ && step == step_) return;
  rank_ = rank;
  step_ = step;
  draw_cursor();
  emit cursor_moved();
}

QString StripPlot::cursor_text() const {
  if (rank_ < 0) return {};
  return QString::fromStdString(cell_text(strip_, static_cast<std::size_t>(rank_), static_cast<std::size_t>(step_)));
}

QColor StripPlot::cursor_colour() const { return cursor_->pen().color(); }

void StripPlot::draw_cursor() {
  cursor_->setVisible(rank_ >= 0);
  if (rank_ >= 0) {
    cursor_->topLeft->setCoords(step_ - 0.5, rank_ - 0.5);
    cursor_->bottomRight->setCoords(step_ + 0.5, rank_ + 0.5);
    QCPColorGradient colours = map_->gradient();
    const double value = map_->data()->cell(step_, rank_);
    const QColor base = palette().color(QPalette::Base);
    const QColor fill = std::isnan(value) ? base : QColor(colours.color(value, map_->dataRange()));
    cursor_->setPen(QPen(readable_on(fill), 2.0));
  }
  replot(QCustomPlot::rpQueuedReplot);
}

void StripPlot::colour_in() {
  QCPColorGradient gradient;
  gradient.clearColorStops();
  // Begins with a tint, because the ground is the colour of steps that were not recorded.
  gradient.setColorStopAt(0.0, blended(palette().color(QPalette::Base), colour(Colour::copies, palette()), 0.2));
  gradient.setColorStopAt(0.5, colour(Colour::copies, palette()));
  gradient.setColorStopAt(1.0, colour(is_dark(palette()) ? Colour::measured : Colour::exposed, palette()));
  gradient.setNanHandling(QCPColorGradient::nhTransparent);
  map_->setGradient(gradient);
  const QColor text = palette().color(QPalette::Text);
  QCPAxis* axis = scale_->axis();
  axis->setBasePen(QPen(text));
  axis->setTickPen(QPen(text));
  axis->setSubTickPen(QPen(text));
  axis->setTickLabelColor(text);
  axis->setLabelColor(text);
  cursor_->setBrush(Qt::NoBrush);
  draw_cursor();
}

bool StripPlot::move_to(const QPointF& position) {
  if (strip_.values.empty() || !axisRect()->rect().contains(position.toPoint())) return false;
  set_cursor(static_cast<int>(std::lround(yAxis->pixelToCoord(position.y()))),
             static_cast<int>(std::lround(xAxis->pixelToCoord(position.x()))));
  return true;
}

void StripPlot::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Left:
      return set_cursor(rank_, step_ - 1);
    case Qt::Key_Right:
      return set_cursor(rank_, step_ + 1);
    case Qt::Key_Up:
      return set_cursor(rank_ - 1, step_);
    case Qt::Key_Down:
      return set_cursor(rank_ + 1, step_);
    case Qt::Key_Home:
      return set_cursor(rank_, 0);
    case Qt::Key_End:
      return set_cursor(rank_, static_cast<int>(strip_.steps.size()) - 1);
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (rank_ >= 0) emit step_chosen();
      return;
    case Qt::Key_Escape:
      emit choice_cleared();
      return;
    default:
      Plot::keyPressEvent(event);
  }
}

void StripPlot::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) move_to(event->position());
  Plot::mousePressEvent(event);
}

void StripPlot::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton && move_to(event->position())) emit step_chosen();
  Plot::mouseDoubleClickEvent(event);
}

}  // namespace ddpprof::gui
