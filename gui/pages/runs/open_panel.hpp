// Opens trace databases: with a dialog, or from the list of recent ones.
#pragma once

#include <QWidget>

class QListWidget;
class QPushButton;

namespace ddpprof::gui {

class OpenPanel : public QWidget {
  Q_OBJECT

 public:
  explicit OpenPanel(QWidget* parent = nullptr);

  void refresh();  // reads the list again; marks the database at `opened`
  void set_opened(const QString& path);
  QListWidget* recent() const { return recent_; }

 signals:
  void open_requested(const QString& path);
  void compare_requested(const QString& path, bool as_a);

 protected:
  void showEvent(QShowEvent*) override;

 private:
  void choose();
  QString selected() const;
  void update_buttons();

  QString opened_;
  QListWidget* recent_;
  QPushButton* open_;
  QPushButton* as_a_;
  QPushButton* as_b_;
};

}  // namespace ddpprof::gui
