// The timeline as pictures: PNG, SVG, the clipboard.
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QMenu>
#include <QPainter>
#include <QSvgGenerator>
#include <stdexcept>

#include "gui/plots/picture_path.hpp"
#include "gui/timeline/timeline_view.hpp"

namespace ddpprof::gui {

void TimelineView::add_picture_actions() {
  const auto add = [this](const QString& text, const QKeySequence& keys, void (TimelineView::*slot)()) {
    auto* action = new QAction(text, this);
    action->setShortcut(keys);
    action->setShortcutContext(Qt::WidgetShortcut);
    connect(action, &QAction::triggered, this, slot);
    addAction(action);
  };
  add(tr("&Copy picture"), QKeySequence::Copy, &TimelineView::copy_picture);
  add(tr("&Save as PNG or SVG…"), QKeySequence(tr("Ctrl+Shift+S")), &TimelineView::ask_and_save);
}

void TimelineView::contextMenuEvent(QContextMenuEvent* event) {
  QMenu::exec(actions(), event->globalPos(), nullptr, this);
}

QPixmap TimelineView::picture(double scale) {
  QPixmap picture(viewport()->size() * scale);
  picture.setDevicePixelRatio(scale);
  Scene shown = scene();
  shown.has_focus = false;  // the keyboard's is no part of the picture
  QPainter painter(&picture);
  painter_.paint(painter, shown);
  return picture;
}

void TimelineView::save_png(const QString& path, double scale) {
  if (!picture(scale).save(path, "PNG")) throw std::runtime_error(path.toStdString() + ": cannot be written");
}

void TimelineView::save_svg(const QString& path) {
  QSvgGenerator generator;
  generator.setFileName(path);
  generator.setSize(viewport()->size());
  generator.setViewBox(viewport()->rect());
  generator.setTitle(timeline_ ? QString::fromStdString(timeline_->title) : tr("Timeline"));
  Scene shown = scene();
  shown.has_focus = false;
  QPainter painter;
  if (!painter.begin(&generator)) throw std::runtime_error(path.toStdString() + ": cannot be written");
  painter_.paint(painter, shown);
  painter.end();
}

void TimelineView::copy_picture() {
  QApplication::clipboard()->setPixmap(picture(2.0));
  emit says(tr("Picture copied"));
}

void TimelineView::ask_and_save() {
  const QString path = ask_picture_path(this, QStringLiteral("timeline"));
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

}  // namespace ddpprof::gui
