#include "gui/plots/regions.hpp"

#include <QFontMetricsF>
#include <algorithm>

namespace ddpprof::gui {

Region::Region(Plot& plot, Where label, bool always, int line, Shape shape)
    : plot_(plot),
      where_(label),
      always_(always),
      line_(line),
      shape_(shape),
      box_(new QCPItemRect(&plot)),
      text_(new QCPItemText(&plot)) {
  box_->setLayer(QStringLiteral("background"));
  box_->setSelectable(false);
  for (QCPItemPosition* corner : {box_->topLeft, box_->bottomRight}) {
    corner->setTypeX(QCPItemPosition::ptPlotCoords);
    corner->setTypeY(QCPItemPosition::ptAxisRectRatio);
  }
  text_->setLayer(QStringLiteral("axes"));  // above filled areas
  text_->setSelectable(false);
  text_->position->setTypeX(QCPItemPosition::ptPlotCoords);
  text_->position->setTypeY(QCPItemPosition::ptAxisRectRatio);
  text_->setTextAlignment(Qt::AlignLeft);
  text_->setPadding(QMargins(5, 2, 5, 2));
  hide();
}

void Region::set(double from, double to, const QString& label) {
  from_ = from;
  to_ = to;
  shown_ = true;
  box_->topLeft->setCoords(from, 0.0);
  box_->setVisible(true);
  text_->setText(label);
  make_room();
}

void Region::hide() {
  shown_ = false;
  box_->setVisible(false);
  text_->setVisible(false);
}

bool Region::visible() const { return shown_; }
bool Region::label_visible() const { return text_->visible(); }
QString Region::label() const { return text_->text(); }

void Region::restyle(Colour which, double strength, Qt::BrushStyle style) {
  QColor fill = colour(which, plot_.palette());
  QColor edge = fill;
  edge.setAlphaF(0.6F);
  fill.setAlphaF(static_cast<float>(strength));
  box_->setBrush(QBrush(fill, style));
  box_->setPen(QPen(edge, 1.0, Qt::DotLine));
  text_->setColor(plot_.palette().color(QPalette::Text));
  QColor behind = plot_.palette().color(QPalette::Base);
  behind.setAlpha(120);
  text_->setBrush(behind);
}

double Region::height_px() const {
  constexpr double bracket_px = 5.0;
  return shape_ == Shape::area ? plot_.axisRect()->height() : bracket_px;
}

void Region::make_room() {
  if (!shown_) return;
  const double plot_px = std::max(1, plot_.axisRect()->height());
  box_->bottomRight->setCoords(to_, height_px() / plot_px);
  const double left = plot_.xAxis->coordToPixel(std::max(from_, plot_.xAxis->range().lower));
  const double right = plot_.xAxis->coordToPixel(std::min(to_, plot_.xAxis->range().upper));
  double width = 0.0;
  for (const QString& line : text_->text().split('\n'))
    width = std::max(width, QFontMetricsF(text_->font()).horizontalAdvance(line) + 12.0);
  const bool fits = right - left >= width;
  text_->setVisible(fits || always_);
  text_->setPositionAlignment((fits ? Qt::AlignLeft : Qt::AlignRight) |
                              (where_ == Where::top ? Qt::AlignTop : Qt::AlignBottom));
  const double lines_down =
      (shape_ == Shape::area ? 1.0 : height_px()) + line_ * QFontMetricsF(text_->font()).lineSpacing();
  const double ratio = lines_down / plot_px;
  text_->position->setCoords(plot_.xAxis->pixelToCoord(fits ? left : right),
                             where_ == Where::top ? ratio : 1.0 - ratio);
}

Crosshair::Crosshair(Plot& plot) : plot_(plot), line_(new QCPItemStraightLine(&plot)), text_(new QCPItemText(&plot)) {
  for (QCPAbstractItem* item : {static_cast<QCPAbstractItem*>(line_), static_cast<QCPAbstractItem*>(text_)}) {
    item->setLayer(QStringLiteral("overlay"));
    item->setSelectable(false);
  }
  line_->setClipToAxisRect(true);
  text_->position->setTypeX(QCPItemPosition::ptAbsolute);
  text_->position->setTypeY(QCPItemPosition::ptAxisRectRatio);
  text_->setTextAlignment(Qt::AlignLeft);
  text_->setPadding(QMargins(6, 4, 6, 4));
  text_->setClipToAxisRect(false);
  text_->setPositionAlignment(Qt::AlignTop | Qt::AlignLeft);
  QObject::connect(&plot, &QCustomPlot::afterLayout, text_, [this] { place_text(); });
  hide();
}

void Crosshair::set(double x, const QString& text) {
  x_ = x;
  line_->point1->setCoords(x, plot_.yAxis->range().lower);
  line_->point2->setCoords(x, plot_.yAxis->range().upper);
  text_->setText(text);
  place_text();
  line_->setVisible(true);
  text_->setVisible(!text.isEmpty());
}

QRectF Crosshair::text_box() const {
  const QMargins padding = text_->padding();
  const QSize size = QFontMetrics(text_->font()).size(0, text_->text()).grownBy(padding);
  return {QPointF(text_->position->pixelPosition()), QSizeF(size)};
}

void Crosshair::place_text() {
  const double line_px = plot_.xAxis->coordToPixel(x_), width_px = text_box().width();
  const bool right_half = line_px > plot_.axisRect()->center().x();
  const double left_px = right_half ? line_px - width_px : line_px;
  text_->position->setCoords(std::clamp(left_px, 0.0, std::max(0.0, plot_.width() - width_px)), height_);
}

void Crosshair::hide() {
  line_->setVisible(false);
  text_->setVisible(false);
}

bool Crosshair::visible() const { return line_->visible(); }
QString Crosshair::text() const { return text_->text(); }
void Crosshair::set_height(double ratio) { height_ = ratio; }

void Crosshair::restyle(Qt::PenStyle style) {
  const QColor text = plot_.palette().color(QPalette::Text);
  line_->setPen(QPen(text, 1.2, style));
  text_->setColor(text);
  QColor behind = plot_.palette().color(QPalette::Base);
  behind.setAlpha(225);
  text_->setBrush(behind);
  QColor edge = text;
  edge.setAlpha(90);
  text_->setPen(QPen(edge, 1.0));
}

}  // namespace ddpprof::gui
