// Shows a page's content, or a message with the reason why it is missing and what to do.
#pragma once

#include <QLabel>
#include <QScrollArea>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabWidget>
#include <QVBoxLayout>
#include <utility>

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
  void show_message(const QString& why, report::Table table) {
    if (over_table_ == nullptr) {
      over_table_ = new QWidget(this);
      over_ = made_message(over_table_);
      table_ = new TableView(over_table_);
      auto* place = new QVBoxLayout(over_table_);
      over_->setMargin(0);
      over_->setAlignment(Qt::AlignLeft | Qt::AlignTop);
      place->addWidget(over_);
      place->addWidget(table_, 1);
      addWidget(over_table_);
    }
    message_->setText(why);
    over_->setText(why);
    table_->set_table(std::move(table));
    setCurrentWidget(over_table_);
  }
  void show_content() { setCurrentIndex(1); }
  bool shows_content() const { return currentIndex() == 1; }
  QString message() const { return message_->text(); }
  // The table below the message; null without one.
  TableView* table() const { return over_table_ != nullptr && currentWidget() == over_table_ ? table_ : nullptr; }

 private:
  static QLabel* made_message(QWidget* parent) {
    auto* label = new QLabel(parent);
    label->setWordWrap(true);
    label->setAlignment(Qt::AlignCenter);
    label->setMargin(48);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    return label;
  }

  QLabel* message_;
  QWidget* over_table_ = nullptr;  // created at first use
  QLabel* over_ = nullptr;
  TableView* table_ = nullptr;
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
