#include "gui/pages/runs/scenario_editor.hpp"

#include <QAbstractItemView>
#include <QCompleter>
#include <QFontDatabase>
#include <QHelpEvent>
#include <QPainter>
#include <QScrollBar>
#include <QStandardItemModel>
#include <QTextBlock>
#include <QTimer>
#include <QToolTip>
#include <algorithm>

#include "gui/plots/colours.hpp"

namespace ddpprof::gui {
namespace {

constexpr int delay_ms = 120;  // wait after the last key: a check takes about 1 ms, but a flickering list disturbs more
constexpr int about_role = Qt::UserRole;

class Numbers : public QWidget {
 public:
  explicit Numbers(ScenarioEditor* editor) : QWidget(editor), editor_(editor) {}
  QSize sizeHint() const override { return {editor_->number_width(), 0}; }

 protected:
  void paintEvent(QPaintEvent* event) override { editor_->paint_numbers(event); }

 private:
  ScenarioEditor* editor_;
};

}  // namespace

ScenarioEditor::ScenarioEditor(QWidget* parent)
    : QPlainTextEdit(parent),
      numbers_(new Numbers(this)),
      completer_(new QCompleter(this)),
      suggestions_(new QStandardItemModel(this)),
      check_(this),
      delay_(new QTimer(this)) {
  setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  setLineWrapMode(NoWrap);
  setTabChangesFocus(true);  // YAML is indented with spaces; Tab goes to the next control
  setAccessibleName(tr("Scenario"));
  completer_->setWidget(this);
  completer_->setModel(suggestions_);
  completer_->setCompletionMode(QCompleter::UnfilteredPopupCompletion);
  completer_->popup()->setAccessibleName(tr("Keys allowed here"));
  connect(completer_, qOverload<const QString&>(&QCompleter::activated), this, &ScenarioEditor::insert);
  connect(completer_, qOverload<const QModelIndex&>(&QCompleter::highlighted), this,
          [this](const QModelIndex& index) { emit described(index.data(about_role).toString()); });
  delay_->setSingleShot(true);
  delay_->setInterval(delay_ms);
  connect(delay_, &QTimer::timeout, this, &ScenarioEditor::check_now);
  connect(this, &QPlainTextEdit::textChanged, this, &ScenarioEditor::check_soon);
  connect(this, &QPlainTextEdit::cursorPositionChanged, this, &ScenarioEditor::describe_cursor);
  connect(this, &QPlainTextEdit::blockCountChanged, this, [this] { setViewportMargins(number_width(), 0, 0, 0); });
  connect(this, &QPlainTextEdit::updateRequest, this, &ScenarioEditor::update_numbers);
  setViewportMargins(number_width(), 0, 0, 0);
}

int ScenarioEditor::number_width() const {
  const int digits = std::max(2, static_cast<int>(QString::number(blockCount()).size()));
  return fontMetrics().horizontalAdvance('9') * digits + 14;
}

void ScenarioEditor::update_numbers(const QRect& changed, int scrolled) {
  if (scrolled != 0)
    numbers_->scroll(0, scrolled);
  else
    numbers_->update(0, changed.y(), numbers_->width(), changed.height());
}

void ScenarioEditor::resizeEvent(QResizeEvent* event) {
  QPlainTextEdit::resizeEvent(event);
  const QRect inside = contentsRect();
  numbers_->setGeometry(inside.left(), inside.top(), number_width(), inside.height());
}

void ScenarioEditor::paint_numbers(QPaintEvent* event) {
  QPainter painter(numbers_);
  painter.fillRect(event->rect(), palette().color(QPalette::AlternateBase));
  painter.setFont(font());
  const QColor plain = palette().color(QPalette::PlaceholderText), wrong = colour(Colour::error, palette());
  for (QTextBlock block = firstVisibleBlock(); block.isValid(); block = block.next()) {
    const QRectF place = blockBoundingGeometry(block).translated(contentOffset());
    if (place.top() > event->rect().bottom()) break;
    const int line = block.blockNumber() + 1;
    const bool bad = std::any_of(problems_.begin(), problems_.end(),
                                 [line](const TextProblem& problem) { return problem.line == line; });
    painter.setPen(bad ? wrong : plain);
    const QRectF cell(0, place.top(), numbers_->width() - 6, fontMetrics().height());
    painter.drawText(cell, Qt::AlignRight | Qt::AlignVCenter,
                     (bad ? QStringLiteral("✖") : QString()) + QString::number(line));
  }
}

void ScenarioEditor::check_soon() {
  pending_ = true;
  delay_->start();
}

void ScenarioEditor::check_now() {
  const QString text = toPlainText();
  check_.start([text](const Cancelled&) { return check_scenario(text); },
               [this](std::vector<TextProblem> found) {
                 pending_ = delay_->isActive();
                 problems_ = std::move(found);
                 underline();
                 emit checked();
               },
               nullptr);
}

QTextCursor ScenarioEditor::cursor_at(int line, int column) const {
  const QTextBlock block = document()->findBlockByNumber(line - 1);
  QTextCursor cursor(block.isValid() ? block : document()->lastBlock());
  cursor.setPosition(cursor.block().position() + std::clamp(column - 1, 0, cursor.block().length() - 1));
  return cursor;
}

void ScenarioEditor::underline() {
  QList<QTextEdit::ExtraSelection> all;
  for (const TextProblem& problem : problems_) {
    QTextEdit::ExtraSelection selection;
    selection.cursor = cursor_at(problem.line, problem.column);
    selection.cursor.movePosition(QTextCursor::NextCharacter, QTextCursor::KeepAnchor, problem.length);
    if (!selection.cursor.hasSelection()) selection.cursor.select(QTextCursor::LineUnderCursor);
    selection.format.setUnderlineStyle(QTextCharFormat::WaveUnderline);
    selection.format.setUnderlineColor(colour(Colour::error, palette()));
    all << selection;
  }
  setExtraSelections(all);
  numbers_->update();
}

void ScenarioEditor::go_to(int line, int column) {
  setTextCursor(cursor_at(line, column));
  centerCursor();
  setFocus();
}

void ScenarioEditor::describe_cursor() { emit described(describe_key(key_at(toPlainText(), textCursor().position()))); }

void ScenarioEditor::complete() {
  const int cursor = textCursor().position();
  const Completion found = complete_scenario(toPlainText(), cursor);
  suggestions_->clear();
  for (const Suggestion& suggestion : found.suggestions) {
    auto* item = new QStandardItem(suggestion.insert);
    const QString about = suggestion.about + ". " + suggestion.doc;
    item->setData(about, about_role);
    item->setToolTip(about);
    suggestions_->appendRow(item);
  }
  const QString typed = toPlainText().mid(found.begin, cursor - found.begin);
  const bool whole = found.suggestions.size() == 1 && found.suggestions.front().insert == typed;
  if (found.suggestions.empty() || whole) {
    completer_->popup()->hide();
    return;
  }
  completer_->setCompletionPrefix({});
  completer_->popup()->setCurrentIndex(completer_->completionModel()->index(0, 0));
  QRect place = cursorRect();
  place.translate(number_width(), 0);
  place.setWidth(completer_->popup()->sizeHintForColumn(0) +
                 completer_->popup()->verticalScrollBar()->sizeHint().width());
  completer_->complete(place);
  emit described(suggestions_->item(0)->data(about_role).toString());
}

void ScenarioEditor::insert(const QString& suggestion) {
  QTextCursor cursor = textCursor();
  const Completion found = complete_scenario(toPlainText(), cursor.position());
  cursor.setPosition(found.begin, QTextCursor::KeepAnchor);
  cursor.insertText(suggestion);
  setTextCursor(cursor);
}

void ScenarioEditor::keyPressEvent(QKeyEvent* event) {
  const bool popup = completer_->popup()->isVisible();
  // These keys belong to the open list.
  if (popup && (event->key() == Qt::Key_Enter || event->key() == Qt::Key_Return || event->key() == Qt::Key_Escape ||
                event->key() == Qt::Key_Tab || event->key() == Qt::Key_Backtab)) {
    event->ignore();
    return;
  }
  if (event->key() == Qt::Key_Space && event->modifiers().testFlag(Qt::ControlModifier)) {
    complete();
    return;
  }
  if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && event->modifiers() == Qt::NoModifier) {
    const QString line = textCursor().block().text();
    QString indent = line.left(static_cast<qsizetype>(
        std::find_if(line.begin(), line.end(), [](QChar c) { return c != ' '; }) - line.begin()));
    if (line.trimmed().endsWith(':') && textCursor().atBlockEnd()) indent += "  ";
    insertPlainText("\n" + indent);
    ensureCursorVisible();
    return;
  }
  QPlainTextEdit::keyPressEvent(event);
  const QString typed = event->text();
  const bool word = !typed.isEmpty() && (typed[0].isLetterOrNumber() || typed[0] == '_');
  if (word && (popup || textCursor().positionInBlock() > 1))
    complete();
  else if (popup && event->key() == Qt::Key_Backspace)
    complete();
  else if (popup && !typed.isEmpty())
    completer_->popup()->hide();
}

void ScenarioEditor::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) underline();
  if (event->type() == QEvent::FontChange) setViewportMargins(number_width(), 0, 0, 0);
  QPlainTextEdit::changeEvent(event);
}

bool ScenarioEditor::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const QTextCursor cursor = cursorForPosition(viewport()->mapFrom(this, help->pos()));
    const int line = cursor.blockNumber() + 1;
    QStringList texts;
    for (const TextProblem& problem : problems_)
      if (problem.line == line) texts << problem.text();
    if (texts.isEmpty()) texts << describe_key(key_at(toPlainText(), cursor.position()));
    QToolTip::showText(help->globalPos(), texts.join('\n'), this);
    return true;
  }
  return QPlainTextEdit::event(event);
}

}  // namespace ddpprof::gui
