// Pictures of the timeline: PNG, SVG, clipboard.
#include <QApplication>
#include <QClipboard>
#include <QPainter>
#include <QSvgGenerator>

#include "gui/plots/picture_actions.hpp"
#include "gui/timeline/timeline_view.hpp"

namespace ddpprof::gui {

QPixmap TimelineView::picture(double scale) {
  QPixmap picture(viewport()->size() * scale);
  picture.setDevicePixelRatio(scale);
  Scene shown = scene();
  shown.has_focus = false;  // pictures do not show the keyboard focus
  QPainter painter(&picture);
  painter_.paint(painter, shown);
  return picture;
}

void TimelineView::save_png(const QString& path, double scale) {
  if (!picture(scale).save(path, "PNG")) throw_unwritable(path);
}

void TimelineView::save_svg(const QString& path) {
  QSvgGenerator generator;
  prepare_svg(generator, path, viewport()->size(),
              timeline_ ? QString::fromStdString(timeline_->title) : tr("Timeline"));
  Scene shown = scene();
  shown.has_focus = false;
  QPainter painter;
  if (!painter.begin(&generator)) throw_unwritable(path);
  painter_.paint(painter, shown);
  painter.end();
}

void TimelineView::copy_picture() {
  QApplication::clipboard()->setPixmap(picture(2.0));
  emit status_message(tr("Picture copied"));
}

void TimelineView::ask_and_save() {
  const QString message = ask_and_save_picture(
      *this, QStringLiteral("timeline"), [this](const QString& path) { save_png(path); },
      [this](const QString& path) { save_svg(path); });
  if (!message.isEmpty()) emit status_message(message);
}

}  // namespace ddpprof::gui
