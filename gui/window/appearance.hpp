// The program's palette (light, dark, or the one that is nearer to the desktop's), and the About box.
#pragma once

class QMenu;
class QWidget;

namespace ddpprof::gui {

enum class Appearance { system, light, dark };

void apply_appearance(Appearance);  // to the whole program
void set_appearance(Appearance);    // applies it and stores it for the next start
void restore_appearance();          // applies the stored one
void add_appearance_menu(QMenu&);
void show_about(QWidget* parent);

}  // namespace ddpprof::gui
