// What a page of the window is: a title, a file it shows, and nothing that blocks.
//
// To add one: a class in gui/pages, one line in gui/window/pages.cpp.
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

  virtual QString title() const = 0;  // with the accelerator's &
  // Keys that this page alone knows, for F1: pairs of keys and what they do.
  virtual std::vector<std::pair<QString, QString>> keys() const { return {}; }
  // Where the keyboard goes when the page is chosen. (A focus proxy that lies inside of the page breaks Qt's tab chain:
  // Tab then walks in a circle that leaves controls out.)
  void focus_first_control() { (first_control_ ? first_control_ : this)->setFocus(Qt::TabFocusReason); }
  // What this page shows of the selected range, as a widget to put beside the other pages; null when it has none.
  virtual QWidget* make_companion(QWidget* parent) {
    (void)parent;
    return nullptr;
  }
  // The opened file, or null: the page shows what to do instead of data. Called on the interface thread; long work is
  // started as a Job.
  virtual void show_file(std::shared_ptr<const OpenedFile> file) = 0;
  // Asked before the window closes: false keeps it open (unsaved text, a run that goes on). May ask the user.
  virtual bool may_close() { return true; }

 signals:
  // One line for the status bar.
  void says(const QString& message);
  // A page asks the window to open a file (Runs).
  void open_requested(const QString& path);

 protected:
  Selection& selection() { return selection_; }
  void set_first_control(QWidget* control) { first_control_ = control; }

 private:
  Selection& selection_;
  QWidget* first_control_ = nullptr;
};

}  // namespace ddpprof::gui
