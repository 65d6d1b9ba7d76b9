// Actions of every drawn widget: copy its picture, save it as PNG or SVG, with keyboard shortcuts.
#pragma once

#include <QKeySequence>
#include <QString>
#include <functional>

class QSize;
class QSvgGenerator;
class QWidget;

namespace ddpprof::gui {

// Adds an action to the widget's actions(). Its shortcut works while the widget has the focus.
void add_local_action(QWidget& widget, const QString& text, const QKeySequence& keys, std::function<void()> call);
// "Copy picture" (Ctrl+C) and "Save as PNG or SVG…" (Ctrl+Shift+S).
void add_picture_actions(QWidget& widget, std::function<void()> copy, std::function<void()> ask_and_save);

// Asks for a path and saves with the function that matches the file extension. The dialog proposes `name`; without an
// extension it gets that of the selected file type. Returns a text for the status bar; "" if the user cancelled.
QString ask_and_save_picture(QWidget& parent, const QString& name, const std::function<void(const QString&)>& save_png,
                             const std::function<void(const QString&)>& save_svg);

// Sets up the generator for painting. Throws as throw_unwritable if the file cannot be written.
void prepare_svg(QSvgGenerator& generator, const QString& path, const QSize& size, const QString& title);
[[noreturn]] void throw_unwritable(const QString& path);  // throws std::runtime_error that names the file

}  // namespace ddpprof::gui
