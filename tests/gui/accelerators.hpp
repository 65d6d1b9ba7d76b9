// The letters that Alt+letter activates on a visible page, and conflicts between two controls.
#pragma once

#include <QAbstractButton>
#include <QKeySequence>
#include <QLabel>
#include <QStringList>
#include <QTabBar>
#include <QWidget>

namespace ddpprof::gui {

// Letters of the window itself: the tabs of its pages, its menus, and Details of the diagnostics bar.
inline const QString letters_of_the_window = QStringLiteral("SDTAILUFVH");

// "Alt+M: Measurement, Model"; empty if each letter belongs to one control.
inline QStringList clashing_letters(const QWidget& page) {
  QMap<QString, QStringList> uses;
  for (const QChar letter : letters_of_the_window) uses["Alt+" + QString(letter)] << QStringLiteral("the window");
  const auto add = [&](const QString& text) {
    const QKeySequence keys = QKeySequence::mnemonic(text);
    if (!keys.isEmpty()) uses[keys.toString(QKeySequence::PortableText)] << QString(text).remove('&');
  };
  for (const QWidget* widget : page.findChildren<QWidget*>()) {
    if (!widget->isVisible()) continue;
    if (const auto* button = qobject_cast<const QAbstractButton*>(widget)) add(button->text());
    if (const auto* label = qobject_cast<const QLabel*>(widget); label != nullptr && label->buddy() != nullptr)
      add(label->text());
    if (const auto* tabs = qobject_cast<const QTabBar*>(widget))
      for (int i = 0; i < tabs->count(); ++i) add(tabs->tabText(i));
  }
  QStringList clashes;
  for (auto use = uses.begin(); use != uses.end(); ++use)
    if (use.value().size() > 1) clashes << use.key() + ": " + use.value().join(", ");
  return clashes;
}

}  // namespace ddpprof::gui
