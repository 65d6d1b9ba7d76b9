#include "gui/pages/overview/step_bar.hpp"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>

#include "gui/plots/colours.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::gui {
namespace {

constexpr int bar_px = 32, gap_px = 8, mark_px = 12, apart_px = 20;

Colour colour_of(StepPart part) {
  switch (part) {
    case StepPart::compute:
      return Colour::compute;
    case StepPart::transfer:
      return Colour::exposed;
    case StepPart::waiting:
      return Colour::skew;
    case StepPart::launches:
      return Colour::host;
    case StepPart::other:
      break;
  }
  return Colour::other;
}

QString percent_text(const StepShare& share) { return QString::fromStdString(units::percent(share.share, 3)); }

QString legend_text(const StepShare& share) {
  return QString::fromStdString(share.name) + QStringLiteral("  ") + percent_text(share);
}

}  // namespace

StepBar::StepBar(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setCursor(Qt::PointingHandCursor);
  setAccessibleName(tr("Where the step goes"));
  setToolTip(tr("Where the step goes: open the page Ranks"));
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
}

void StepBar::show_step(std::vector<StepShare> step) {
  step_ = std::move(step);
  QStringList texts;
  for (const StepShare& share : step_) texts << legend_text(share);
  setAccessibleDescription(texts.join(", "));
  updateGeometry();
  update();
}

std::vector<QRect> StepBar::legend_boxes(int width) const {
  const QFontMetrics metrics(font());
  std::vector<QRect> boxes;
  int x = 0, y = bar_px + gap_px;
  for (const StepShare& share : step_) {
    const int needed = mark_px + 6 + metrics.horizontalAdvance(legend_text(share));
    if (x > 0 && x + needed > width) {
      x = 0;
      y += metrics.height() + 4;
    }
    boxes.emplace_back(x, y, needed, metrics.height());
    x += needed + apart_px;
  }
  return boxes;
}

int StepBar::heightForWidth(int width) const {
  const std::vector<QRect> boxes = legend_boxes(width);
  return boxes.empty() ? bar_px : boxes.back().bottom() + 3;
}

QSize StepBar::minimumSizeHint() const { return {240, heightForWidth(std::max(240, width()))}; }

void StepBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const QFontMetrics metrics(font());
  double left = 0.0;
  for (const StepShare& share : step_) {
    const QRectF piece(left * width(), 0.0, share.share * width(), bar_px);
    left += share.share;
    const QColor fill = colour(colour_of(share.part), palette());
    painter.fillRect(piece.adjusted(0.0, 0.0, -1.0, 0.0), fill);
    const QString text = percent_text(share);
    if (metrics.horizontalAdvance(text) + 8 > piece.width()) continue;
    painter.setPen(readable_on(fill));
    painter.drawText(piece, Qt::AlignCenter, text);
  }
  const std::vector<QRect> boxes = legend_boxes(width());
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const QRect mark(boxes[i].left(), boxes[i].center().y() - mark_px / 2 + 1, mark_px, mark_px);
    painter.fillRect(mark, colour(colour_of(step_[i].part), palette()));
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(boxes[i].adjusted(mark_px + 6, 0, 1, 0), Qt::AlignLeft | Qt::AlignVCenter, legend_text(step_[i]));
  }
  if (hasFocus()) {
    painter.setPen(QPen(palette().color(QPalette::Highlight), 2.0));
    painter.drawRect(QRect(1, 1, width() - 2, bar_px - 2));
  }
}

void StepBar::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton && rect().contains(event->pos())) emit activated();
}

void StepBar::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter || event->key() == Qt::Key_Space)
    emit activated();
  else
    QWidget::keyPressEvent(event);
}

}  // namespace ddpprof::gui
