// A QCustomPlot that follows the window's palette, has axis labels with units, and can be saved as PNG or SVG.
//
// QCustomPlot is under the GPL 3: only gui links it.
#pragma once

#include <qcustomplot.h>

#include <QString>
#include <QVector>

#include "gui/plots/colours.hpp"

namespace ddpprof::gui {

// "250", "20 k", "1 M", "2.5 G": a value of an axis in at most four significant digits, without an exponent.
QString compact_number(double value);

// An axis ticker, for example QCPAxisTickerLog, whose labels are compact numbers.
template <class Ticker>
class CompactTicker : public Ticker {
 protected:
  QString getTickLabel(double tick, const QLocale&, QChar, int) override { return compact_number(tick); }
};

class Plot : public QCustomPlot {
  Q_OBJECT

 public:
  explicit Plot(QWidget* parent = nullptr);

  // `name` is the file name of a saved picture, without extension.
  void set_name(const QString& name) { name_ = name; }
  void set_axes(const QString& x, const QString& y);  // labels, with the unit in brackets
  // Sets the axis of N from `low` to `high`. A logarithmic axis has ticks at powers of two.
  void set_worker_axis(double low, double high, bool logarithmic);
  bool logarithmic() const { return xAxis->scaleType() == QCPAxis::stLogarithmic; }

  // Pens and brushes for one meaning, from the present palette. Call them again in a slot of `restyled`.
  QPen pen(Colour which, double width = 1.8, Qt::PenStyle style = Qt::SolidLine) const;
  QBrush band(Colour which) const;

  // Throw std::runtime_error, naming the file, if it cannot be written.
  void save_png(const QString& path, double scale = 2.0);
  void save_svg(const QString& path);

 public slots:
  void copy_picture();
  void ask_and_save();  // opens a dialog; PNG or SVG by file extension

 signals:
  void restyled();  // the palette changed: set pens and brushes again
  void status_message(const QString& message);

 protected:
  void changeEvent(QEvent*) override;
  void paintEvent(QPaintEvent*) override;  // also draws the focus frame, which saved pictures do not have

 private:
  void restyle();

  QString name_ = QStringLiteral("plot");
};

}  // namespace ddpprof::gui
