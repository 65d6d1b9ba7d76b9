#include "gui/window/help.hpp"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QTabWidget>
#include <QVBoxLayout>

#include "analysis/report/core/columns.hpp"
#include "gui/pages/page.hpp"
#include "gui/widgets/table_view.hpp"
#include "gui/window/glossary.hpp"

namespace ddpprof::gui {

report::Table keys_table(const std::vector<Page*>& pages) {
  report::Table table;
  table.name = "keys";
  table.title = "Keys";
  table.columns = {report::text("where", "where"), report::text("key", "key"),
                   report::prose("what it does", "what it does")};
  const auto add = [&](const QString& where, const QString& key, const QString& what) {
    table.rows.push_back({where.toStdString(), key.toStdString(), what.toStdString()});
  };
  const QString everywhere = HelpDialog::tr("everywhere");
  add(everywhere, "Ctrl+O", HelpDialog::tr("open a trace database"));
  add(everywhere, "F5", HelpDialog::tr("read the file again"));
  add(everywhere, "Escape", HelpDialog::tr("cancel reading a file or a comparison"));
  // Keys that depend on the desktop, if it defines them.
  const auto add_standard = [&](QKeySequence::StandardKey key, const QString& what) {
    const QString keys = QKeySequence::listToString(QKeySequence::keyBindings(key));
    if (!keys.isEmpty()) add(everywhere, keys, what);
  };
  add_standard(QKeySequence::Close, HelpDialog::tr("close the file"));
  add_standard(QKeySequence::Quit, HelpDialog::tr("quit the program"));
  add(everywhere, HelpDialog::tr("Alt+1 … Alt+%1").arg(pages.size()), HelpDialog::tr("go to a page"));
  add(everywhere, "Tab, Shift+Tab", HelpDialog::tr("next and previous control"));
  add(everywhere, "Ctrl+K", HelpDialog::tr("find a page, an action or a knob by a part of its name"));
  add(everywhere, "F4", HelpDialog::tr("show all diagnostics"));
  add(everywhere, "F1", HelpDialog::tr("show these keys and the glossary (Escape closes them)"));
  const QString in_table = HelpDialog::tr("a table"), in_plot = HelpDialog::tr("a plot");
  add(in_table, "Ctrl+C", HelpDialog::tr("copy the selected rows, or all rows"));
  add(in_table, "Ctrl+Shift+C", HelpDialog::tr("copy the table as CSV"));
  add(in_table, "Ctrl+Shift+M", HelpDialog::tr("copy the table as Markdown"));
  add(in_plot, "Ctrl+C", HelpDialog::tr("copy the picture"));
  add(in_plot, "Ctrl+Shift+S", HelpDialog::tr("save as PNG or SVG"));
  for (const Page* page : pages)
    for (const auto& [key, what] : page->keys()) add(page->title().remove('&'), key, what);
  return table;
}

HelpDialog::HelpDialog(report::Table keys, QWidget* parent)
    : QDialog(parent), tabs_(new QTabWidget(this)), status_(new QLabel(this)) {
  setWindowTitle(tr("Keys and glossary"));
  add(std::move(keys), tr("&Keys"));
  TableView* words = add(glossary_table(), tr("&Glossary"));
  words->setSortingEnabled(false);  // the order is by term; κ is sorted as "kappa"
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  buttons->button(QDialogButtonBox::Close)->setAutoDefault(false);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  auto* last = new QHBoxLayout;
  last->addWidget(status_, 1);
  last->addWidget(buttons);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(tabs_);
  layout->addLayout(last);
  resize(820, 560);
}

TableView* HelpDialog::add(report::Table table, const QString& title) {
  auto* view = new TableView(this);
  view->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);  // rows contain sentences, some with several lines
  view->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  view->set_table(std::move(table));
  connect(view, &TableView::status_message, status_, &QLabel::setText);
  connect(view->horizontalHeader(), &QHeaderView::sectionResized, view, &TableView::resizeRowsToContents);
  tabs_->addTab(view, title);
  return view;
}

void HelpDialog::show_table(int tab) {
  tabs_->setCurrentIndex(tab);
  show();
  raise();
  activateWindow();
  auto* view = qobject_cast<TableView*>(tabs_->widget(tab));
  view->setFocus(Qt::OtherFocusReason);
}

}  // namespace ddpprof::gui
