// Pictures of the lanes: PNG, SVG, clipboard.
#include <QApplication>
#include <QClipboard>
#include <QPainter>
#include <QSvgGenerator>

#include "gui/plots/picture_actions.hpp"
#include "gui/widgets/lane_view.hpp"

namespace ddpprof::gui {

QPixmap LaneView::picture(double scale) {
  QPixmap picture(size() * scale);
  picture.setDevicePixelRatio(scale);
  picture.fill(palette().color(QPalette::Base));
  QPainter painter(&picture);
  paint(painter, false);
  return picture;
}

void LaneView::save_png(const QString& path, double scale) {
  if (!picture(scale).save(path, "PNG")) throw_unwritable(path);
}

void LaneView::save_svg(const QString& path) {
  QSvgGenerator generator;
  prepare_svg(generator, path, size(), title_);
  QPainter painter;
  if (!painter.begin(&generator)) throw_unwritable(path);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  paint(painter, false);
  painter.end();
}

void LaneView::copy_picture() {
  QApplication::clipboard()->setPixmap(picture(2.0));
  emit status_message(tr("Picture copied"));
}

void LaneView::ask_and_save() {
  const QString message = ask_and_save_picture(
      *this, name_, [this](const QString& path) { save_png(path); }, [this](const QString& path) { save_svg(path); });
  if (!message.isEmpty()) emit status_message(message);
}

}  // namespace ddpprof::gui
