#include "gui/plots/plot.hpp"

#include <QApplication>
#include <QClipboard>
#include <QMenu>
#include <QSvgGenerator>
#include <cmath>
#include <stdexcept>

#include "gui/plots/picture_path.hpp"

namespace ddpprof::gui {

Plot::Plot(QWidget* parent) : QCustomPlot(parent) {
  setNoAntialiasingOnDrag(true);
  setPlottingHint(QCP::phFastPolylines, true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(240, 160);
  legend->setBorderPen(Qt::NoPen);
  const auto add = [this](const QString& text, const QKeySequence& keys, void (Plot::*slot)()) {
    auto* action = new QAction(text, this);
    action->setShortcut(keys);
    action->setShortcutContext(Qt::WidgetShortcut);
    connect(action, &QAction::triggered, this, slot);
    addAction(action);
  };
  add(tr("&Copy picture"), QKeySequence::Copy, &Plot::copy_picture);
  add(tr("&Save as PNG or SVG…"), QKeySequence(tr("Ctrl+Shift+S")), &Plot::ask_and_save);
  restyle();
}

void Plot::set_axes(const QString& x, const QString& y) {
  xAxis->setLabel(x);
  yAxis->setLabel(y);
}

void Plot::set_worker_axis(double low, double high, bool logarithmic) {
  if (logarithmic) {
    xAxis->setScaleType(QCPAxis::stLogarithmic);
    const auto ticks = QSharedPointer<QCPAxisTickerText>::create();
    for (double n = 1.0; n <= high * 1.01; n *= 2.0)
      if (n >= low * 0.99) ticks->addTick(n, QString::number(static_cast<qint64>(n)));
    xAxis->setTicker(ticks);
    xAxis->setRange(low / 1.08, high * 1.08);
  } else {
    xAxis->setScaleType(QCPAxis::stLinear);
    const auto ticks = QSharedPointer<QCPAxisTicker>::create();
    xAxis->setTicker(ticks);
    xAxis->setRange(low - 0.02 * (high - low) - 0.2, high + 0.02 * (high - low) + 0.2);
  }
}

QPen Plot::pen(Colour which, double width, Qt::PenStyle style) const {
  return {colour(which, palette()), width, style};
}

QBrush Plot::band(Colour which) const {
  QColor faint = colour(which, palette());
  faint.setAlpha(is_dark(palette()) ? 60 : 45);
  return faint;
}

void Plot::save_png(const QString& path, double scale) {
  if (!savePng(path, 0, 0, scale)) throw std::runtime_error(path.toStdString() + ": cannot be written");
}

void Plot::save_svg(const QString& path) {
  QSvgGenerator generator;
  generator.setFileName(path);
  generator.setSize(size());
  generator.setViewBox(QRect(QPoint(0, 0), size()));
  generator.setTitle(name_);
  QCPPainter painter;
  if (!painter.begin(&generator)) throw std::runtime_error(path.toStdString() + ": cannot be written");
  painter.setMode(QCPPainter::pmVectorized);
  painter.setMode(QCPPainter::pmNoCaching);
  toPainter(&painter, width(), height());
  painter.end();
}

void Plot::copy_picture() {
  QApplication::clipboard()->setPixmap(toPixmap(0, 0, 2.0));
  emit says(tr("Picture copied"));
}

void Plot::ask_and_save() {
  const QString path = ask_picture_path(this, name_);
  if (path.isEmpty()) return;
  try {
    if (is_svg(path))
      save_svg(path);
    else
      save_png(path);
    emit says(tr("Saved %1").arg(path));
  } catch (const std::exception& error) {
    emit says(QString::fromStdString(error.what()));
  }
}

void Plot::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange) restyle();
  QCustomPlot::changeEvent(event);
}

void Plot::contextMenuEvent(QContextMenuEvent* event) { QMenu::exec(actions(), event->globalPos(), nullptr, this); }

void Plot::restyle() {
  const QColor text = palette().color(QPalette::Text);
  const QColor base = palette().color(QPalette::Base);
  QColor grid = text;
  grid.setAlpha(36);
  setBackground(base);
  for (QCPAxis* axis : {xAxis, yAxis, xAxis2, yAxis2}) {
    axis->setBasePen(QPen(text));
    axis->setTickPen(QPen(text));
    axis->setSubTickPen(QPen(text));
    axis->setTickLabelColor(text);
    axis->setLabelColor(text);
    axis->grid()->setPen(QPen(grid));
    axis->grid()->setZeroLinePen(QPen(grid));
  }
  QColor behind = base;
  behind.setAlpha(210);
  legend->setBrush(behind);
  legend->setTextColor(text);
  emit restyled();
  replot(QCustomPlot::rpQueuedReplot);
}

}  // namespace ddpprof::gui
