#include "gui/widgets/shell_line.hpp"

#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>

namespace ddpprof::gui {

ShellLine::ShellLine(QWidget* parent) : QWidget(parent), command_(new QLineEdit(this)) {
  command_->setReadOnly(true);
  command_->setObjectName("command");
  command_->setAccessibleName(tr("The same question as a shell command"));
  command_->setToolTip(tr("The same question as a shell command. It prints the tables below"));
  auto* label = new QLabel(tr("In a shell:"), this);
  label->setBuddy(command_);
  auto* copy = new QToolButton(this);
  copy->setText(tr("Copy"));
  copy->setAccessibleName(tr("Copy the command"));
  copy->setFocusPolicy(Qt::StrongFocus);
  connect(copy, &QToolButton::clicked, this, [this] {
    QApplication::clipboard()->setText(command_->text());
    emit status_message(tr("Command copied"));
  });
  auto* line = new QHBoxLayout(this);
  line->setContentsMargins(0, 0, 0, 0);
  line->addWidget(label);
  line->addWidget(command_, 1);
  line->addWidget(copy);
}

void ShellLine::set_command(const QString& command) {
  command_->setText(command);
  command_->setCursorPosition(0);
}

QString ShellLine::command() const { return command_->text(); }

}  // namespace ddpprof::gui
