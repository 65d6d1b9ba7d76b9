// What every drawn widget offers: actions with keys of its own, its picture copied or saved as PNG or SVG.
#pragma once

#include <QKeySequence>
#include <QString>
#include <functional>

class QSize;
class QSvgGenerator;
class QWidget;

namespace ddpprof::gui {

// An action of the widget: in its actions(), and on its keys while it has the focus.
void add_local_action(QWidget& widget, const QString& text, const QKeySequence& keys, std::function<void()> call);
// "Copy picture" (Ctrl+C) and "Save as PNG or SVG…" (Ctrl+Shift+S).
void add_picture_actions(QWidget& widget, std::function<void()> copy, std::function<void()> ask_and_save);

// Asks where, and saves with the one that the name's ending wants; `name` without an ending is proposed, and gets the
// ending of the kind that is chosen before it is confirmed. Returns what to say afterwards, "" when the user thought
// better of it.
QString ask_and_save_picture(QWidget& parent, const QString& name, const std::function<void(const QString&)>& save_png,
                             const std::function<void(const QString&)>& save_svg);

// Ready for a painter to begin; a file that cannot be written shows then.
void prepare_svg(QSvgGenerator& generator, const QString& path, const QSize& size, const QString& title);
[[noreturn]] void throw_unwritable(const QString& path);  // std::runtime_error naming the file

}  // namespace ddpprof::gui
