#include "gui/pages/runs/ask.hpp"

#include <QMessageBox>
#include <QPushButton>

namespace ddpprof::gui {

Ask ask_with_dialog(QWidget* parent) {
  return [parent](const Question& question) {
    QMessageBox box(QMessageBox::Question, question.title, question.text, QMessageBox::Cancel, parent);
    QPushButton* first = box.addButton(question.first, QMessageBox::AcceptRole);
    QPushButton* second =
        question.second.isEmpty() ? nullptr : box.addButton(question.second, QMessageBox::DestructiveRole);
    box.setDefaultButton(QMessageBox::Cancel);
    box.exec();
    if (box.clickedButton() == first) return Answer::first;
    if (second != nullptr && box.clickedButton() == second) return Answer::second;
    return Answer::cancel;
  };
}

}  // namespace ddpprof::gui
