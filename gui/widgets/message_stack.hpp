// Shows a page's content, or a message with the reason why it is missing and what to do.
#pragma once

#include <QLabel>
#include <QScrollArea>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabWidget>
#include <QVBoxLayout>
#include <utility>
#include <vector>

#include "gui/widgets/table_view.hpp"

namespace ddpprof::gui {

class MessageStack : public QStackedWidget {
 public:
  MessageStack(QWidget* content, QWidget* parent) : QStackedWidget(parent), message_(made_message(this)) {
    message_->setObjectName("message");
    addWidget(message_);
    addWidget(content);
  }

  void show_message(const QString& why) {
    message_->setText(why);
    setCurrentIndex(0);
  }
  // Shows the message above the tables that have rows, each with its title.
  void show_message(const QString& why, std::vector<report::Table> tables) {
    if (over_tables_ == nullptr) {
      over_tables_ = new QWidget(this);
      over_ = made_message(over_tables_);
      over_->setMargin(0);
      over_->setAlignment(Qt::AlignLeft | Qt::AlignTop);
      (new QVBoxLayout(over_tables_))->addWidget(over_);
      addWidget(over_tables_);
    }
    message_->setText(why);
    over_->setText(why);
    std::erase_if(tables, [](const report::Table& table) { return table.rows.empty(); });
    while (tables_.size() < tables.size()) add_table();
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      const bool shown = i < tables.size();
      tables_[i].title->setVisible(shown);
      tables_[i].view->setVisible(shown);
      if (!shown) continue;
      tables_[i].title->setText(QString::fromStdString(tables[i].title));
      tables_[i].view->set_table(std::move(tables[i]));
    }
    setCurrentWidget(over_tables_);
  }
  void show_content() { setCurrentIndex(1); }
  bool shows_content() const { return currentIndex() == 1; }
  QString message() const { return message_->text(); }
  // The tables below the message, as they are shown.
  std::vector<TableView*> tables() const {
    std::vector<TableView*> all;
    for (const Titled& one : tables_)
      if (shows_tables() && one.view->isVisibleTo(this)) all.push_back(one.view);
    return all;
  }

 private:
  struct Titled {
    QLabel* title;
    TableView* view;
  };

  bool shows_tables() const { return over_tables_ != nullptr && currentWidget() == over_tables_; }
  void add_table() {
    auto* title = new QLabel(over_tables_);
    QFont bold = title->font();
    bold.setBold(true);
    title->setFont(bold);
    auto* place = static_cast<QVBoxLayout*>(over_tables_->layout());
    place->addWidget(title);
    tables_.push_back({title, new TableView(over_tables_)});
    place->addWidget(tables_.back().view, 1);
  }
  static QLabel* made_message(QWidget* parent) {
    auto* label = new QLabel(parent);
    label->setWordWrap(true);
    label->setAlignment(Qt::AlignCenter);
    label->setMargin(48);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    return label;
  }

  QLabel* message_;
  QWidget* over_tables_ = nullptr;  // created at first use
  QLabel* over_ = nullptr;
  std::vector<Titled> tables_;
};

// A table, or its `empty` text if it has no rows.
class TableOrMessage : public MessageStack {
 public:
  explicit TableOrMessage(QWidget* parent) : TableOrMessage(new TableView, parent) {}

  void set_table(report::Table table) {
    const bool any = !table.rows.empty();
    if (!any) show_message(QString::fromStdString(table.empty));
    view_->set_table(std::move(table));
    if (any) show_content();
  }
  TableView& view() { return *view_; }

 private:
  TableOrMessage(TableView* view, QWidget* parent) : MessageStack(view, parent), view_(view) {}

  TableView* view_;
};

// The tables of a page, one tab each.
class TableTabs : public QTabWidget {
 public:
  explicit TableTabs(QWidget* parent) : QTabWidget(parent) { setDocumentMode(true); }

  TableOrMessage* add(const QString& title) {
    auto* table = new TableOrMessage(this);
    addTab(table, title);
    return table;
  }
};

// Scrolls the widget where it has too little room: plots keep their least height, and texts are not cut off.
inline QScrollArea* scrolled(QWidget* content, QWidget* parent) {
  auto* scroll = new QScrollArea(parent);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setFocusPolicy(Qt::NoFocus);  // it follows the focus of its content
  scroll->setWidget(content);
  return scroll;
}

// Places a page's plots above its tables, with heights of three to two.
inline QSplitter* over_tables(QWidget* drawn, QTabWidget* tables, QWidget* parent) {
  auto* halves = new QSplitter(Qt::Vertical, parent);
  halves->addWidget(scrolled(drawn, halves));
  halves->addWidget(tables);
  halves->setStretchFactor(0, 3);
  halves->setStretchFactor(1, 2);
  return halves;
}

}  // namespace ddpprof::gui
