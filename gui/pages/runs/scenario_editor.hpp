// A text field for scenarios: line numbers, problems underlined where they are, keys completed as they are typed.
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
  bool checking() const { return pending_ || check_.running(); }  // problems() are of an older text
  void go_to(int line, int column);                               // 1-based
  QCompleter* completer() const { return completer_; }

  int number_width() const;  // of the column of line numbers, in layout units
  void paint_numbers(QPaintEvent*);

 public slots:
  void complete();  // Ctrl+Space, and while a word is typed

 signals:
  void checked();                       // problems() are of the text as it is
  void described(const QString& what);  // the key at the cursor, or the one chosen in the list

 protected:
  void keyPressEvent(QKeyEvent*) override;
  void resizeEvent(QResizeEvent*) override;
  void changeEvent(QEvent*) override;
  bool event(QEvent*) override;  // tool tips

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
