// The palette of Ctrl+K: finds pages, menu entries, actions of a page and knobs by parts of their names.
#pragma once

#include <QDialog>
#include <functional>
#include <vector>

class QLineEdit;
class QListWidget;

namespace ddpprof::gui {

class MainWindow;

struct Command {
  QString title;  // "Page: Timeline", "File: Reload", "Knob: Link bandwidth"
  QString keys;   // its shortcut; may be empty
  std::function<void()> run;
};

// All commands that can be used now.
std::vector<Command> commands_of(MainWindow&);

// Indices of the commands whose title contains all words of the text, in any case and order. Titles in which each word
// begins a word of the title come first. Without a text all, in their order.
std::vector<std::size_t> matching(const std::vector<Command>&, const QString& text);

class CommandPalette : public QDialog {
  Q_OBJECT

 public:
  CommandPalette(std::vector<Command>, QWidget* parent);

  QLineEdit& box() { return *box_; }
  QListWidget& list() { return *list_; }

 protected:
  bool eventFilter(QObject*, QEvent*) override;  // the arrow keys in the box move in the list

 private:
  void fill();
  void run_current();

  std::vector<Command> commands_;
  QLineEdit* box_;
  QListWidget* list_;
};

}  // namespace ddpprof::gui
