// The lanes as pictures: PNG, SVG, the clipboard.
#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QPainter>
#include <QSvgGenerator>
#include <stdexcept>

#include "gui/widgets/lane_view.hpp"

namespace ddpprof::gui {

void LaneView::save_png(const QString& path, double scale) {
  QPixmap picture(size() * scale);
  picture.setDevicePixelRatio(scale);
  picture.fill(palette().color(QPalette::Base));
  QPainter painter(&picture);
  paint(painter, false);
  painter.end();
  if (!picture.save(path, "PNG")) throw std::runtime_error(path.toStdString() + ": cannot be written");
}

void LaneView::save_svg(const QString& path) {
  QSvgGenerator generator;
  generator.setFileName(path);
  generator.setSize(size());
  generator.setViewBox(QRect(QPoint(0, 0), size()));
  generator.setTitle(title_);
  QPainter painter;
  if (!painter.begin(&generator)) throw std::runtime_error(path.toStdString() + ": cannot be written");
  painter.fillRect(rect(), palette().color(QPalette::Base));
  paint(painter, false);
  painter.end();
}

void LaneView::copy_picture() {
  QPixmap picture(size() * 2.0);
  picture.setDevicePixelRatio(2.0);
  picture.fill(palette().color(QPalette::Base));
  QPainter painter(&picture);
  paint(painter, false);
  painter.end();
  QApplication::clipboard()->setPixmap(picture);
  emit says(tr("Picture copied"));
}

void LaneView::ask_and_save() {
  const QString path =
      QFileDialog::getSaveFileName(this, tr("Save lanes"), name_ + ".png", tr("PNG (*.png);;SVG (*.svg)"));
  if (path.isEmpty()) return;
  try {
    if (path.endsWith(".svg", Qt::CaseInsensitive))
      save_svg(path);
    else
      save_png(path.endsWith(".png", Qt::CaseInsensitive) ? path : path + ".png");
    emit says(tr("Saved %1").arg(path));
  } catch (const std::exception& error) {
    emit says(QString::fromStdString(error.what()));
  }
}

}  // namespace ddpprof::gui
