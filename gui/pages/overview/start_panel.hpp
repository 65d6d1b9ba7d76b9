// What the window shows while no file is open: a place to drop files, recent files, and the first steps.
#pragma once

#include <QFrame>

class QListWidget;
class QPushButton;

namespace ddpprof::gui {

class StartPanel : public QWidget {
  Q_OBJECT

 public:
  explicit StartPanel(QWidget* parent = nullptr);

  void refresh();  // reads the recent files again

 signals:
  void choose_requested();                   // a file dialog
  void open_requested(const QString& path);  // a recent file
  void measure_requested(bool sample);       // the page Runs; `sample`: with an example

 protected:
  void showEvent(QShowEvent*) override;

 private:
  void open_current();

  QListWidget* recent_;
};

}  // namespace ddpprof::gui
