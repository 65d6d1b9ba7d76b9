// How the program looks: the desktop's palette, or a light or dark one of its own; and what it says of itself.
#pragma once

class QMenu;
class QWidget;

namespace ddpprof::gui {

enum class Appearance { system, light, dark };

void apply_appearance(Appearance);  // to the whole program
void set_appearance(Appearance);    // … and remembers it
void restore_appearance();          // what was remembered
void add_appearance_menu(QMenu&);
void show_about(QWidget* parent);

}  // namespace ddpprof::gui
