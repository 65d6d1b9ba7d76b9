// The scenario being edited: its file, the editor and the list of problems. Asks before unsaved text is lost.
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

  // Returns false if the user keeps the present text, or if the file cannot be read (the reason is shown below the
  // editor).
  bool open(const QString& path);
  bool start_from(const QString& text, const QString& name);  // not yet saved as a file
  bool start_from_example(const QString& path);
  bool start_from_stored();  // with the opened database's scenario
  bool save();
  bool save_to(const QString& path);
  // Asks the user about unsaved text. Returns true if nothing unsaved is left.
  bool may_discard();

  ScenarioEditor* editor() const { return editor_; }
  QListWidget* problems() const { return problems_; }
  QString path() const { return path_; }  // "" if the text belongs to no file
  QString name() const;                   // file name for saving: "mnist-mlp.yaml"
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
  void show_error(const QString& message);

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
