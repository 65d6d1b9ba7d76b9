// A page of the window: it has a title, shows a file, and never blocks the interface thread.
//
// To add one: write a class in gui/pages and add one line to gui/window/pages.cpp.
#pragma once

#include <QString>
#include <QWidget>
#include <memory>
#include <vector>

#include "gui/models/opened_file.hpp"
#include "gui/models/selection.hpp"

namespace ddpprof::gui {

class Page : public QWidget {
  Q_OBJECT

 public:
  explicit Page(Selection& selection, QWidget* parent = nullptr) : QWidget(parent), selection_(selection) {}

  virtual QString title() const = 0;  // with & before the accelerator key
  // Keys that only this page uses, for F1: pairs of keys and their action.
  virtual std::vector<std::pair<QString, QString>> keys() const { return {}; }
  // The widget that gets the focus when the page is chosen. (A focus proxy inside the page breaks Qt's tab chain: Tab
  // then cycles through some of the controls only.)
  void focus_first_control() { (first_control_ ? first_control_ : this)->setFocus(Qt::TabFocusReason); }
  // Returns this page's view of the selected range, a widget to place beside the other pages; null if the page has
  // none.
  virtual QWidget* make_companion(QWidget* parent) {
    (void)parent;
    return nullptr;
  }
  // Shows the opened file; null means that no file is open, and the page shows what to do. Called on the interface
  // thread. Long work must be started as a Job.
  virtual void show_file(std::shared_ptr<const OpenedFile> file) = 0;
  // Returns false if the page has nothing to show of the file. The window then hides it.
  virtual bool applies_to(const OpenedFile&) const { return true; }
  // Shows an example without a file. Returns false if the page has none.
  virtual bool show_example() { return false; }
  // Compares two databases, `b` with `a`; false on pages without comparisons.
  virtual bool compare_databases(const QString& /*a*/, const QString& /*b*/) { return false; }
  // Called before the window closes. Returns false to keep the window open (unsaved text, a run in progress). May ask
  // the user.
  virtual bool may_close() { return true; }

 signals:
  // A line of text for the status bar.
  void status_message(const QString& message);
  // Asks the window to open a file.
  void open_requested(const QString& path);
  // Asks the window to read the present file again with a log of nccl-tests, whose all-reduces replace the fitted ones.
  void log_requested(const QString& path);
  // Asks the window to show another page, by its title without &.
  void page_requested(const QString& title);
  // The warnings of the file under the choice of predictions (Selection::choice).
  void notices_changed(const report::Table& notices);
  void choose_requested();   // asks the window to let the user choose files to open
  void example_requested();  // asks the window to show an example

 protected:
  Selection& selection() { return selection_; }
  void set_first_control(QWidget* control) { first_control_ = control; }

 private:
  Selection& selection_;
  QWidget* first_control_ = nullptr;
};

}  // namespace ddpprof::gui
