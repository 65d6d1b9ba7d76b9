// A line with the shell command for what the page shows, and a button to copy it.
#pragma once

#include <QString>
#include <QWidget>

class QLineEdit;

namespace ddpprof::gui {

class ShellLine : public QWidget {
  Q_OBJECT

 public:
  explicit ShellLine(QWidget* parent);

  void set_command(const QString& command);
  QString command() const;

 signals:
  void status_message(const QString& message);

 private:
  QLineEdit* command_;
};

}  // namespace ddpprof::gui
