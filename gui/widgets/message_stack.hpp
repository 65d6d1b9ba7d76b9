// A page's content, or in its place a sentence: why there is none and what to do.
#pragma once

#include <QLabel>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabWidget>
#include <QVBoxLayout>
#include <utility>

#include "gui/widgets/table_view.hpp"

namespace ddpprof::gui {

class MessageStack : public QStackedWidget {
 public:
  MessageStack(QWidget* content, QWidget* parent) : QStackedWidget(parent), message_(new QLabel) {
    message_->setWordWrap(true);
    message_->setAlignment(Qt::AlignCenter);
    message_->setMargin(48);
    message_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    message_->setObjectName("message");
    auto* without_content = new QWidget(this);
    place_ = new QVBoxLayout(without_content);
    place_->setContentsMargins(0, 0, 0, 0);
    place_->addWidget(message_, 1);
    addWidget(without_content);
    addWidget(content);
  }

  void say(const QString& why) {
    message_->setText(why);
    if (below_ != nullptr) below_->hide();
    setCurrentIndex(0);
  }
  // The sentence over what there is all the same.
  void say(const QString& why, report::Table table) {
    message_->setText(why);
    if (below_ == nullptr) place_->addWidget(below_ = new TableView(this), 3);
    below_->set_table(std::move(table));
    below_->show();
    setCurrentIndex(0);
  }
  void show_content() { setCurrentIndex(1); }
  bool shows_content() const { return currentIndex() == 1; }
  TableView* table_below() const { return below_; }  // null until there was one
  QString message() const { return message_->text(); }

 private:
  QLabel* message_;
  QVBoxLayout* place_;
  TableView* below_ = nullptr;
};

// A table, or in its place what the table says when it has no rows.
class TableOrWhy : public MessageStack {
 public:
  explicit TableOrWhy(QWidget* parent) : TableOrWhy(new TableView, parent) {}

  void set_table(report::Table table) {
    const bool any = !table.rows.empty();
    if (!any) say(QString::fromStdString(table.empty));
    view_->set_table(std::move(table));
    if (any) show_content();
  }
  TableView& view() { return *view_; }

 private:
  TableOrWhy(TableView* view, QWidget* parent) : MessageStack(view, parent), view_(view) {}

  TableView* view_;
};

// A page's tables, a tab each.
class TableTabs : public QTabWidget {
 public:
  explicit TableTabs(QWidget* parent) : QTabWidget(parent) { setDocumentMode(true); }

  TableOrWhy* add(const QString& title) {
    auto* table = new TableOrWhy(this);
    addTab(table, title);
    return table;
  }
};

// What a page draws, over its tables: three parts to two.
inline QSplitter* over_tables(QWidget* drawn, QTabWidget* tables, QWidget* parent) {
  auto* halves = new QSplitter(Qt::Vertical, parent);
  halves->addWidget(drawn);
  halves->addWidget(tables);
  halves->setStretchFactor(0, 3);
  halves->setStretchFactor(1, 2);
  return halves;
}

}  // namespace ddpprof::gui
