// A QCustomPlot that follows the window's palette, labels its axes with units, and is saved as PNG or SVG.
//
// QCustomPlot is GPL-3: only the gui links it.
#pragma once

#include <qcustomplot.h>

#include <QString>
#include <QVector>

#include "gui/plots/colours.hpp"

namespace ddpprof::gui {

class Plot : public QCustomPlot {
  Q_OBJECT

 public:
  explicit Plot(QWidget* parent = nullptr);

  // `name` is what a saved file is called, without an extension.
  void set_name(const QString& name) { name_ = name; }
  void set_axes(const QString& x, const QString& y);  // labels, with their units in brackets
  // N on a logarithmic axis has ticks at powers of two; both start at `low` and end at `high`.
  void set_worker_axis(double low, double high, bool logarithmic);
  bool logarithmic() const { return xAxis->scaleType() == QCPAxis::stLogarithmic; }

  // Pens and brushes for one meaning, from the palette as it is now: call again from a `restyled` slot.
  QPen pen(Colour which, double width = 1.8, Qt::PenStyle style = Qt::SolidLine) const;
  QBrush band(Colour which) const;

  // Throw std::runtime_error naming the file when it cannot be written.
  void save_png(const QString& path, double scale = 2.0);
  void save_svg(const QString& path);

 public slots:
  void copy_picture();
  void ask_and_save();  // a dialog; PNG or SVG by the name's ending

 signals:
  void restyled();  // the palette has changed: set pens and brushes again
  void says(const QString& message);

 protected:
  void changeEvent(QEvent*) override;
  void paintEvent(QPaintEvent*) override;  // with the keyboard's mark, which pictures do not have

 private:
  void restyle();

  QString name_ = QStringLiteral("plot");
};

}  // namespace ddpprof::gui
