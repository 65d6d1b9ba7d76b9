// A text editor for scenarios: line numbers, underlined problems, completion of keys.
#pragma once

#include <QPlainTextEdit>
#include <vector>

#include "gui/models/jobs.hpp"
#include "gui/models/runs/scenario_text.hpp"

class QCompleter;
class QStandardItemModel;
class QTimer;

namespace ddpprof::gui {

class ScenarioEditor : public QPlainTextEdit {
  Q_OBJECT

 public:
  explicit ScenarioEditor(QWidget* parent = nullptr);

  const std::vector<TextProblem>& problems() const { return problems_; }
  bool checking() const { return pending_ || check_.running(); }  // true while problems() belong to an older text
  void go_to(int line, int column);                               // counted from 1
  QCompleter* completer() const { return completer_; }

  int number_width() const;  // width of the column of line numbers, in layout units
  void paint_numbers(QPaintEvent*);

 public slots:
  void complete();  // on Ctrl+Space and while a word is typed

 signals:
  void checked();                       // problems() belong to the present text
  void described(const QString& what);  // the key at the cursor, or the one selected in the list

 protected:
  void keyPressEvent(QKeyEvent*) override;
  void resizeEvent(QResizeEvent*) override;
  void changeEvent(QEvent*) override;
  bool event(QEvent*) override;  // for tooltips

 private:
  void check_soon();
  void check_now();
  void underline();
  void insert(const QString& suggestion);
  void describe_cursor();
  void update_numbers(const QRect& changed, int scrolled);
  QTextCursor cursor_at(int line, int column) const;

  QWidget* numbers_;
  QCompleter* completer_;
  QStandardItemModel* suggestions_;
  Job check_;
  QTimer* delay_;
  std::vector<TextProblem> problems_;
  bool pending_ = false;
};

}  // namespace ddpprof::gui
