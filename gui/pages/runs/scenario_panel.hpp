// The scenario that is edited: its file, the editor, and the list of what is wrong with it. Never drops unsaved text
// without asking.
#pragma once

#include <QWidget>
#include <memory>

#include "gui/models/opened_file.hpp"
#include "gui/pages/runs/ask.hpp"

class QLabel;
class QListWidget;
class QMenu;
class QPushButton;

namespace ddpprof::gui {

class ScenarioEditor;

class ScenarioPanel : public QWidget {
  Q_OBJECT

 public:
  explicit ScenarioPanel(QWidget* parent = nullptr);

  void set_ask(Ask ask) { ask_ = std::move(ask); }
  void set_file(std::shared_ptr<const OpenedFile> file) { file_ = std::move(file); }

  // False when the user keeps what is there, or the file cannot be read (then said below the editor).
  bool open(const QString& path);
  bool start_from(const QString& text, const QString& name);  // unsaved, of no file
  bool start_from_stored();                                   // the opened database's
  bool save();
  bool save_to(const QString& path);
  // True when nothing unsaved is left, or the user gives it up.
  bool may_discard();

  ScenarioEditor* editor() const { return editor_; }
  QListWidget* problems() const { return problems_; }
  QString path() const { return path_; }  // "" for a text of no file
  QString name() const;                   // of a file that it would make: "mnist-mlp.yaml"
  QString text() const;
  bool modified() const;
  QString status() const;

 private:
  QWidget* make_bar();
  void fill_new();
  void choose_open();
  bool choose_save();
  void show_problems();
  void show_title();
  void say(const QString& message);

  Ask ask_;
  std::shared_ptr<const OpenedFile> file_;
  QString path_, name_ = "scenario.yaml";
  QLabel* title_;
  QMenu* new_;
  ScenarioEditor* editor_;
  QLabel* help_;
  QLabel* status_;
  QListWidget* problems_;
};

}  // namespace ddpprof::gui
