#include "gui/plots/regions.hpp"

#include <QFontMetrics>
#include <algorithm>

namespace ddpprof::gui {
namespace {

QSizeF size_of(const QCPItemText& text) {
  return QSizeF(QFontMetrics(text.font()).size(0, text.text()).grownBy(text.padding()));
}

// Returns the box, moved down or up so far that it meets none of `taken`.
QRectF moved_clear(QRectF box, const std::vector<QRectF>& taken, bool down) {
  constexpr double gap_px = 1.0;
  for (std::size_t i = 0; i < taken.size(); ++i)  // each pass leaves at least one of them behind
    for (const QRectF& other : taken) {
      if (!box.intersects(other)) continue;
      if (down)
        box.moveTop(other.bottom() + gap_px);
      else
        box.moveBottom(other.top() - gap_px);
    }
  return box;
}

}  // namespace

Region::Region(Plot& plot, Where label, bool always, Shape shape)
    : plot_(plot),
      where_(label),
      always_(always),
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
  text_->setPositionAlignment(Qt::AlignTop | Qt::AlignLeft);
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
  std::vector<QRectF> none;
  make_room(none);
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

void Region::make_room(std::vector<QRectF>& taken) {
  if (!shown_) return;
  const QRectF plot_box = plot_.axisRect()->rect();
  const double plot_px = std::max(1.0, plot_box.height());
  box_->bottomRight->setCoords(to_, height_px() / plot_px);
  const double left = plot_.xAxis->coordToPixel(std::max(from_, plot_.xAxis->range().lower));
  const double right = plot_.xAxis->coordToPixel(std::min(to_, plot_.xAxis->range().upper));
  QRectF label(QPointF(0.0, 0.0), size_of(*text_));
  const bool fits = right - left >= label.width();
  text_->setVisible(fits || always_);
  if (!text_->visible()) return;
  if (fits)
    label.moveLeft(left);
  else
    label.moveRight(right);
  label.moveLeft(std::max(0.0, label.left()));
  const double edge_px = shape_ == Shape::area ? 1.0 : height_px();  // distance of the label from its edge
  if (where_ == Where::top)
    label.moveTop(plot_box.top() + edge_px);
  else
    label.moveBottom(plot_box.bottom() - edge_px);
  label = moved_clear(label, taken, where_ == Where::top);
  const bool inside =
      label.top() >= plot_box.top() && label.bottom() <= plot_box.bottom() && label.right() <= plot_.width();
  text_->setVisible(inside);
  if (!inside) return;
  text_->position->setCoords(plot_.xAxis->pixelToCoord(label.left()), (label.top() - plot_box.top()) / plot_px);
  taken.push_back(label);
}

QRectF Region::label_box() const {
  return text_->visible() ? QRectF(text_->position->pixelPosition(), size_of(*text_)) : QRectF();
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
  return text_->visible() ? QRectF(text_->position->pixelPosition(), size_of(*text_)) : QRectF();
}

void Crosshair::place_text() {
  const double line_px = plot_.xAxis->coordToPixel(x_), width_px = size_of(*text_).width();
  const bool right_half = line_px > plot_.axisRect()->center().x();
  const double left_px = right_half ? line_px - width_px : line_px;
  text_->position->setCoords(std::clamp(left_px, 0.0, std::max(0.0, plot_.width() - width_px)), height_);
}

void Crosshair::make_room(const std::vector<QRectF>& taken) {
  if (!line_->visible() || text_->text().isEmpty()) return;
  place_text();
  const QRectF plot_box = plot_.axisRect()->rect();
  const QRectF box = moved_clear(QRectF(text_->position->pixelPosition(), size_of(*text_)), taken, false);
  text_->setVisible(box.top() >= plot_box.top() && box.bottom() <= plot_box.bottom());
  text_->position->setCoords(box.left(), (box.top() - plot_box.top()) / std::max(1.0, plot_box.height()));
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
