#include "gui/pages/runs/compare_panel.hpp"

#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QShortcut>
#include <QSplitter>
#include <QTabWidget>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/models/runs/compare_files.hpp"
#include "gui/pages/runs/compared_steps_view.hpp"
#include "gui/pages/runs/waterfall_view.hpp"
#include "gui/widgets/message_stack.hpp"
#include "gui/widgets/table_view.hpp"

namespace ddpprof::gui {
namespace {

// A table with a text above it: the rule for its numbers, or why it is empty.
QWidget* titled(const report::Table& table, TableView* view, QWidget* parent) {
  auto* page = new QWidget(parent);
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins(4, 4, 4, 4);
  const std::string& words = table.rows.empty() ? table.empty : table.note;
  if (!words.empty()) {
    auto* note = new QLabel(QString::fromStdString(words), page);
    note->setWordWrap(true);
    note->setTextInteractionFlags(Qt::TextSelectableByMouse);
    layout->addWidget(note);
  }
  layout->addWidget(view, 1);
  view->setVisible(!table.rows.empty());
  if (table.rows.empty()) layout->addStretch(1);
  return page;
}

}  // namespace

ComparePanel::ComparePanel(QWidget* parent)
    : QWidget(parent),
      compare_(new QPushButton(tr("Compar&e"), this)),
      cancel_(new QPushButton(tr("Cancel"), this)),
      escape_(new QShortcut(Qt::Key_Escape, this, nullptr, nullptr, Qt::WidgetWithChildrenShortcut)),
      swap_(new QPushButton(tr("Swap"), this)),
      status_(new QLabel(this)),
      words_(new TableView(this)),
      tables_(new QTabWidget(this)),
      job_(this) {
  auto* grid = new QGridLayout;
  a_ = add_row(*grid, 0, tr("A, baseline to compare &with:"), tr("the baseline database"));
  b_ = add_row(*grid, 1, tr("B, compa&red with A:"), tr("the compared database; ratios are B / A"));
  grid->addWidget(swap_, 0, 3);
  grid->addWidget(compare_, 1, 3);
  grid->addWidget(cancel_, 1, 4);
  cancel_->setToolTip(tr("Cancel the comparison (Escape); the present tables stay"));
  grid->setColumnStretch(1, 1);
  status_->setWordWrap(true);
  status_->setAccessibleName(tr("Status of the comparison"));
  status_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  tables_->setDocumentMode(true);
  auto* splitter = new QSplitter(Qt::Vertical, this);
  splitter->setObjectName("compare");
  splitter->addWidget(words_);
  splitter->addWidget(tables_);
  splitter->setStretchFactor(0, 1);
  splitter->setStretchFactor(1, 4);
  splitter->setSizes({128, 512});
  splitter->setChildrenCollapsible(false);
  words_->hide();
  tables_->hide();
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(grid);
  layout->addWidget(status_);
  layout->addWidget(splitter, 1);
  connect(compare_, &QPushButton::clicked, this, &ComparePanel::compare);
  connect(swap_, &QPushButton::clicked, this, &ComparePanel::swap);
  connect(cancel_, &QPushButton::clicked, this, &ComparePanel::cancel);
  connect(escape_, &QShortcut::activated, this, &ComparePanel::cancel);
  connect(escape_, &QShortcut::activatedAmbiguously, this,
          &ComparePanel::cancel);  // the window's Escape is active too while it reads a file
  connect(&job_, &Job::running_changed, this, &ComparePanel::update_button);
  update_button();
  status_->setText(
      tr("Choose two trace databases. For each configuration that both of them measured, the tables show what differs, "
         "by how much, and how certain this is."));
}

QLineEdit* ComparePanel::add_row(QGridLayout& grid, int row, const QString& label, const QString& what) {
  auto* field = new QLineEdit(this);
  field->setAccessibleName(what);
  field->setPlaceholderText(what);
  field->setClearButtonEnabled(true);
  auto* name = new QLabel(label, this);
  name->setBuddy(field);
  auto* browse = new QPushButton(tr("Browse…"), this);
  browse->setAccessibleName(tr("Browse for %1").arg(what));
  connect(browse, &QPushButton::clicked, this, [this, field, what] {
    const QString path = QFileDialog::getOpenFileName(this, what, QFileInfo(field->text()).absolutePath(),
                                                      tr("Trace databases (*.db);;All files (*)"));
    if (!path.isEmpty()) field->setText(path);
  });
  connect(field, &QLineEdit::textChanged, this, &ComparePanel::update_button);
  connect(field, &QLineEdit::returnPressed, this, &ComparePanel::compare);
  grid.addWidget(name, row, 0);
  grid.addWidget(field, row, 1);
  grid.addWidget(browse, row, 2);
  return field;
}

void ComparePanel::set_a(const QString& path) { a_->setText(path); }
void ComparePanel::set_b(const QString& path) { b_->setText(path); }
QString ComparePanel::a() const { return a_->text().trimmed(); }
QString ComparePanel::b() const { return b_->text().trimmed(); }
QString ComparePanel::status() const { return status_->text(); }

void ComparePanel::update_button() {
  // Compare and Cancel replace each other, so the focus moves to the visible one, not to the next control.
  if (job_.running() && compare_->hasFocus()) {
    cancel_->setEnabled(true);
    cancel_->setFocus();
  }
  compare_->setEnabled(!a().isEmpty() && !b().isEmpty() && !job_.running());
  swap_->setEnabled(!a().isEmpty() || !b().isEmpty());
  if (cancel_->hasFocus() && !job_.running()) compare_->setFocus();
  cancel_->setEnabled(job_.running());
  escape_->setEnabled(job_.running());
}

void ComparePanel::swap() {
  const QString was_a = a();
  const bool again = has_report_;
  set_a(b());
  set_b(was_a);
  if (again) compare();
}

void ComparePanel::cancel() {
  if (!job_.running()) return;
  job_.cancel();
  status_->setText(before_);
  emit status_message(tr("Comparison cancelled"));
}

void ComparePanel::compare() {
  if (a().isEmpty() || b().isEmpty()) return;
  if (!job_.running()) before_ = status();
  const QString in_a = a(), in_b = b();  // the fields can change during the comparison
  status_->setText(tr("Comparing…"));
  job_.start([a = std::filesystem::path(in_a.toStdString()), b = std::filesystem::path(in_b.toStdString())](
                 const Cancelled& cancelled) { return compare_files(a, b, cancelled); },
             [this, in_a, in_b](report::Report report) { show_report(std::move(report), in_a, in_b); },
             [this](const std::string& why) {
               has_report_ = false;
               words_->hide();
               tables_->hide();
               status_->setText(QString::fromStdString(why));
               emit not_compared();
             });
}

TableView* ComparePanel::view(const std::string& table) const {
  const auto found = std::find_if(views_.begin(), views_.end(), [&](const auto& view) { return view.first == table; });
  return found == views_.end() ? nullptr : found->second;
}

QWidget* ComparePanel::drawn(const report::Table& table, QWidget* below, const QString& in_a, const QString& in_b) {
  auto* page = new QWidget(tables_);
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins(0, 0, 0, 0);
  auto* view = new WaterfallView(page);
  auto* steps = new ComparedStepsView(in_a.toStdString(), in_b.toStdString(), page);
  connect(steps, &ComparedStepsView::status_message, this, &ComparePanel::status_message);
  const std::vector<Waterfall> all = waterfalls_of(table);
  const auto choose = [view, steps, all](int index) {
    view->show_waterfall(all.at(static_cast<std::size_t>(index)));
    steps->show_configuration(static_cast<std::size_t>(index));
  };
  choose(0);
  if (all.size() > 1) {
    auto* choice = new QComboBox(page);
    choice->setAccessibleName(tr("Configuration of the waterfall"));
    choice->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    for (const Waterfall& one : all) choice->addItem(one.title);
    connect(choice, &QComboBox::currentIndexChanged, view, choose);
    auto* row = new QHBoxLayout;
    row->addWidget(choice);
    row->addStretch(1);
    layout->addLayout(row);
  }
  layout->addWidget(view);
  layout->addWidget(steps);
  layout->addWidget(below, 1);
  return scrolled(page, tables_);
}

void ComparePanel::show_report(report::Report report, const QString& in_a, const QString& in_b) {
  const int current = tables_->currentIndex();
  while (tables_->count() > 0) {
    QWidget* page = tables_->widget(0);
    tables_->removeTab(0);
    page->deleteLater();
  }
  report_ = std::move(report);
  has_report_ = true;
  views_.clear();
  int first = 1;  // the tab that is shown first
  for (const report::Table& table : report_.tables) {
    if (table.name == "compare_answer") {
      words_->set_table(table);
      words_->setVisible(!table.rows.empty());
      views_.emplace_back(table.name, words_);
      status_->setText(
          table.rows.empty()
              ? QString::fromStdString(table.empty)
              : tr("A is %1, B is %2. Ratios are B / A.").arg(QFileInfo(in_a).fileName(), QFileInfo(in_b).fileName()));
      continue;
    }
    auto* view = new TableView(this);
    connect(view, &TableView::status_message, this,
            &ComparePanel::status_message);  // the window connected only tables that existed before
    view->set_table(table);
    QWidget* page = titled(table, view, tables_);
    if (table.name == "compare_waterfall" && !table.rows.empty()) {
      view->show_all_rows();  // the page has one scroll bar for the drawing and the table
      page = drawn(table, page, in_a, in_b);
      first = tables_->count();
    }
    tables_->addTab(page, QStringLiteral("%1 (%2)").arg(QString::fromStdString(table.title)).arg(table.rows.size()));
    views_.emplace_back(table.name, view);
  }
  tables_->setCurrentIndex(std::max(0, current < tables_->count() && current >= 0 ? current : first));
  tables_->show();
  // The last column has its final width now, so compute the row heights again.
  QTimer::singleShot(0, words_, &QTableView::resizeRowsToContents);
  emit compared();
}

}  // namespace ddpprof::gui
