#include "gui/plots/plot.hpp"

#include <QApplication>
#include <QClipboard>
#include <QSvgGenerator>
#include <cmath>
#include <utility>

#include "gui/plots/focus_frame.hpp"
#include "gui/plots/picture_actions.hpp"

namespace ddpprof::gui {

QString compact_number(double value) {
  constexpr std::pair<double, const char*> units[] = {{1e9, " G"}, {1e6, " M"}, {1e4, " k"}};
  for (const auto& [least, name] : units) {
    if (std::abs(value) < least * (1.0 - 1e-9)) continue;
    return QString::number(value / (least == 1e4 ? 1e3 : least), 'g', 4) + QLatin1String(name);
  }
  // Without an exponent, down to 0.0001.
  QString text = QString::number(value, 'g', 4);
  if (text.contains('e')) text = QString::number(value, 'f', 6);
  return text;
}

Plot::Plot(QWidget* parent) : QCustomPlot(parent) {
  setNoAntialiasingOnDrag(true);
  setPlottingHint(QCP::phFastPolylines, true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(240, 160);
  legend->setBorderPen(Qt::NoPen);
  setContextMenuPolicy(Qt::ActionsContextMenu);
  add_picture_actions(
      *this, [this] { copy_picture(); }, [this] { ask_and_save(); });
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
  if (!savePng(path, 0, 0, scale)) throw_unwritable(path);
}

void Plot::save_svg(const QString& path) {
  QSvgGenerator generator;
  prepare_svg(generator, path, size(), name_);
  QCPPainter painter;
  if (!painter.begin(&generator)) throw_unwritable(path);
  painter.setMode(QCPPainter::pmVectorized);
  painter.setMode(QCPPainter::pmNoCaching);
  toPainter(&painter, width(), height());
  painter.end();
}

void Plot::copy_picture() {
  QApplication::clipboard()->setPixmap(toPixmap(0, 0, 2.0));
  emit status_message(tr("Picture copied"));
}

void Plot::ask_and_save() {
  const QString message = ask_and_save_picture(
      *this, name_, [this](const QString& path) { save_png(path); }, [this](const QString& path) { save_svg(path); });
  if (!message.isEmpty()) emit status_message(message);
}

void Plot::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange) restyle();
  QCustomPlot::changeEvent(event);
}

void Plot::paintEvent(QPaintEvent* event) {
  QCustomPlot::paintEvent(event);
  if (!hasFocus()) return;
  QPainter painter(this);
  draw_focus_frame(painter, rect(), palette());
}

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
