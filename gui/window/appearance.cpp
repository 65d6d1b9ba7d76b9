#include "gui/window/appearance.hpp"

#include <QActionGroup>
#include <QApplication>
#include <QMenu>
#include <QMessageBox>
#include <QSettings>
#include <QStyle>

#include "gui/plots/colours.hpp"

namespace ddpprof::gui {
namespace {

constexpr const char* key = "appearance";

}  // namespace

void apply_appearance(Appearance appearance) {
  switch (appearance) {
    case Appearance::system:
      QApplication::setPalette(QPalette());  // then palette() returns the desktop's
      QApplication::setPalette(is_dark(QApplication::palette()) ? dark_palette() : light_palette());
      break;
    case Appearance::light:
      QApplication::setPalette(light_palette());
      break;
    case Appearance::dark:
      QApplication::setPalette(dark_palette());
      break;
  }
}

void set_appearance(Appearance appearance) {
  QSettings().setValue(key, static_cast<int>(appearance));
  apply_appearance(appearance);
}

void restore_appearance() {
  const int stored = QSettings().value(key, 0).toInt();
  apply_appearance(stored == 1 || stored == 2 ? static_cast<Appearance>(stored) : Appearance::system);
}

void add_appearance_menu(QMenu& menu) {
  QMenu* appearance = menu.addMenu(QMenu::tr("&Appearance"));
  auto* group = new QActionGroup(appearance);
  const int stored = QSettings().value(key, 0).toInt();
  const auto add = [&](const QString& text, Appearance which) {
    QAction* action = appearance->addAction(text);
    action->setCheckable(true);
    action->setChecked(stored == static_cast<int>(which));
    group->addAction(action);
    QObject::connect(action, &QAction::triggered, [which] { set_appearance(which); });
  };
  add(QMenu::tr("Like the &desktop"), Appearance::system);
  add(QMenu::tr("&Light"), Appearance::light);
  add(QMenu::tr("Dar&k"), Appearance::dark);
}

void show_about(QWidget* parent) {
  QMessageBox::about(
      parent, QMessageBox::tr("About ddpprof"),
      QMessageBox::tr("ddpprof %1\n\nPredicts how a training job scales to N ranks, why, and with which learning rate, "
                      "from measurements of one or few ranks.\n\nThis program links QCustomPlot (GNU General Public "
                      "License 3) and Qt 6 (LGPL 3). As a binary it is distributed under the GPL 3.")
          .arg(QApplication::applicationVersion()));
}

}  // namespace ddpprof::gui
