// The command line that asks what a page shows, to be copied into a shell.
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
  void says(const QString& message);

 private:
  QLineEdit* command_;
};

}  // namespace ddpprof::gui
