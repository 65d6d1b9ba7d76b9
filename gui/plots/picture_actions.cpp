#include "gui/plots/picture_actions.hpp"

#include <QAction>
#include <QFileDialog>
#include <QSvgGenerator>
#include <stdexcept>

namespace ddpprof::gui {
namespace {

bool is_svg(const QString& path) { return path.endsWith(".svg", Qt::CaseInsensitive); }

QString ask_picture_path(QWidget& parent, const QString& name) {
  QFileDialog dialog(&parent, QObject::tr("Save picture"), QString(), QObject::tr("PNG (*.png);;SVG (*.svg)"));
  dialog.setAcceptMode(QFileDialog::AcceptSave);
  dialog.selectFile(name);
  dialog.setDefaultSuffix("png");
  QObject::connect(&dialog, &QFileDialog::filterSelected,
                   [&dialog](const QString& filter) { dialog.setDefaultSuffix(filter.left(3).toLower()); });
  if (dialog.exec() != QDialog::Accepted || dialog.selectedFiles().isEmpty()) return {};
  const QString path = dialog.selectedFiles().front();
  if (path.endsWith(".png", Qt::CaseInsensitive) || is_svg(path)) return path;
  return path + "." + dialog.defaultSuffix();  // the user typed another file extension
}

}  // namespace

void add_local_action(QWidget& widget, const QString& text, const QKeySequence& keys, std::function<void()> call) {
  auto* action = new QAction(text, &widget);
  action->setShortcut(keys);
  action->setShortcutContext(Qt::WidgetShortcut);
  QObject::connect(action, &QAction::triggered, &widget, std::move(call));
  widget.addAction(action);
}

void add_picture_actions(QWidget& widget, std::function<void()> copy, std::function<void()> ask_and_save) {
  add_local_action(widget, QObject::tr("&Copy picture"), QKeySequence::Copy, std::move(copy));
  add_local_action(widget, QObject::tr("&Save as PNG or SVG…"), QKeySequence(QObject::tr("Ctrl+Shift+S")),
                   std::move(ask_and_save));
}

QString ask_and_save_picture(QWidget& parent, const QString& name, const std::function<void(const QString&)>& save_png,
                             const std::function<void(const QString&)>& save_svg) {
  const QString path = ask_picture_path(parent, name);
  if (path.isEmpty()) return {};
  try {
    is_svg(path) ? save_svg(path) : save_png(path);
    return QObject::tr("Saved %1").arg(path);
  } catch (const std::exception& error) {
    return QString::fromStdString(error.what());
  }
}

void prepare_svg(QSvgGenerator& generator, const QString& path, const QSize& size, const QString& title) {
  generator.setFileName(path);
  generator.setSize(size);
  generator.setViewBox(QRect(QPoint(0, 0), size));
  generator.setTitle(title);
}

void throw_unwritable(const QString& path) { throw std::runtime_error(path.toStdString() + ": cannot be written"); }

}  // namespace ddpprof::gui
