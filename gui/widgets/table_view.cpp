#include "gui/widgets/table_view.hpp"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMetaMethod>
#include <QSortFilterProxyModel>
#include <QStyledItemDelegate>
#include <algorithm>
#include <vector>

#include "gui/plots/colours.hpp"
#include "gui/plots/picture_actions.hpp"

namespace ddpprof::gui {
namespace {

constexpr int least_sentence_px = 220;
constexpr int most_words_px = 160;  // of a column beside sentences whose texts can be wrapped, such as a list of ranks

// Tints values that are better or worse than the reference.
class Tinting : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    const QVariant better = index.data(ReportTableModel::better_role);
    if (better.isValid()) option->backgroundBrush = tinted_colour(better.toDouble(), option->palette);
  }
};

}  // namespace

TableView::TableView(QWidget* parent)
    : QTableView(parent), model_(new ReportTableModel(this)), sorted_(new QSortFilterProxyModel(this)) {
  sorted_->setSourceModel(model_);
  sorted_->setSortRole(ReportTableModel::value_role);
  setModel(sorted_);
  setSortingEnabled(true);
  sorted_->sort(-1);
  horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
  setItemDelegate(new Tinting(this));
  setAlternatingRowColors(true);
  setShowGrid(false);
  setSelectionBehavior(QAbstractItemView::SelectRows);
  setEditTriggers(QAbstractItemView::NoEditTriggers);
  setWordWrap(true);
  verticalHeader()->hide();
  horizontalHeader()->setHighlightSections(false);
  horizontalHeader()->setStretchLastSection(true);
  setTabKeyNavigation(false);
  setContextMenuPolicy(Qt::ActionsContextMenu);
  add_local_action(*this, tr("&Copy"), QKeySequence::Copy, [this] { copy_selection(); });
  add_local_action(*this, tr("Copy table as CS&V"), QKeySequence(tr("Ctrl+Shift+C")), [this] { copy_as_csv(); });
  add_local_action(*this, tr("Copy table as &Markdown"), QKeySequence(tr("Ctrl+Shift+M")),
                   [this] { copy_as_markdown(); });
  connect(this, &QTableView::doubleClicked, this, &TableView::choose);
}

void TableView::choose(const QModelIndex& at) {
  if (at.isValid()) emit row_chosen(sorted_->mapToSource(at).row());
}

void TableView::keyPressEvent(QKeyEvent* event) {
  const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
  if (enter && isSignalConnected(QMetaMethod::fromSignal(&TableView::row_chosen)))
    choose(currentIndex());
  else
    QTableView::keyPressEvent(event);
}

void TableView::set_table(report::Table table) {
  setToolTip(QString::fromStdString(table.note));
  setAccessibleName(QString::fromStdString(table.title));
  model_->set_table(std::move(table));
  // A stretched last column of numbers, aligned to the right, would be far from the other columns.
  const int last = model_->columnCount() - 1;
  horizontalHeader()->setStretchLastSection(
      last >= 0 &&
      !model_->headerData(last, Qt::Horizontal, Qt::TextAlignmentRole).value<Qt::Alignment>().testFlag(Qt::AlignRight));
  resizeColumnsToContents();
  for (int i = 0; i < model_->columnCount(); ++i)
    if (wordWrap() && columnWidth(i) > 480) setColumnWidth(i, 480);
  // Row heights matter for sentences. For thousands of rows their computation would take longer than a frame.
  if (model_->rowCount() <= 200)
    resizeRowsToContents();
  else
    verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 4);
  if (shares_width_) fit_sentences();
}

void TableView::share_width() {
  shares_width_ = true;
  setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);  // a row may be higher than the table
  fit_sentences();
}

void TableView::resizeEvent(QResizeEvent* event) {
  QTableView::resizeEvent(event);
  if (shares_width_) fit_sentences();
}

void TableView::fit_sentences() {
  std::vector<int> sentences;
  int others_px = 0;
  for (int i = 0; i < model_->columnCount(); ++i) {
    if (model_->is_prose(i))
      sentences.push_back(i);
    else
      others_px += narrowed(i);
  }
  if (sentences.empty()) return;
  horizontalHeader()->setStretchLastSection(false);  // Qt would make the last column as narrow as the rest of the width
  const int each_px = (viewport()->width() - others_px) / static_cast<int>(sentences.size());
  for (const int i : sentences) setColumnWidth(i, std::max(each_px, least_sentence_px));
  resizeRowsToContents();
}

int TableView::narrowed(int column) {
  bool wraps = false;
  for (int row = 0; row < model_->rowCount() && !wraps; ++row)
    wraps = model_->index(row, column).data().toString().contains(QLatin1Char(' '));
  if (wraps && columnWidth(column) > most_words_px) setColumnWidth(column, most_words_px);
  return columnWidth(column);
}

void TableView::tighten() {
  const int margin = 2 * style()->pixelMetric(QStyle::PM_HeaderMargin, nullptr, this) + 6;
  const QFontMetrics heading(horizontalHeader()->font()), cell(font());
  for (int i = 0; i < model()->columnCount(); ++i) {
    const int title = heading.horizontalAdvance(model()->headerData(i, Qt::Horizontal).toString());
    int needed = title, widest_word = title;
    for (int row = 0; row < model()->rowCount(); ++row) {
      const QString text = model()->index(row, i).data().toString();
      needed = std::max(needed, cell.horizontalAdvance(text));
      if (i == 0)
        for (const QString& word : text.split(QLatin1Char(' ')))
          widest_word = std::max(widest_word, cell.horizontalAdvance(word));
    }
    needed += margin;
    if (i == 0) needed = std::max(widest_word + margin, std::min(needed, 2 * width() / 5));
    setColumnWidth(i, std::min(needed, columnWidth(i)));
  }
  resizeRowsToContents();
}

void TableView::show_all_rows() {
  setMinimumHeight(horizontalHeader()->sizeHint().height() + verticalHeader()->length() +
                   style()->pixelMetric(QStyle::PM_ScrollBarExtent) + 2 * frameWidth());
}

void TableView::copy_selection() {
  if (!selectionModel()->hasSelection()) selectAll();
  QString text;
  int rows = 0;
  for (int row = 0; row < sorted_->rowCount(); ++row) {
    if (!selectionModel()->isRowSelected(row)) continue;
    ++rows;
    for (int column = 0; column < sorted_->columnCount(); ++column)
      text += (column > 0 ? "\t" : "") + sorted_->index(row, column).data().toString();
    text += '\n';
  }
  copy(text, rows, tr("text"));
}

void TableView::copy_as_csv() { copy(as_csv(model_->table()), model_->rowCount(), tr("CSV")); }

void TableView::copy_as_markdown() { copy(as_markdown(model_->table()), model_->rowCount(), tr("Markdown")); }

void TableView::copy(const QString& text, int rows, const QString& form) {
  QApplication::clipboard()->setText(text);
  emit status_message((rows == 1 ? tr("Copied 1 row as %1") : tr("Copied %1 rows as %2").arg(rows)).arg(form));
}

}  // namespace ddpprof::gui
