// The questions that the Runs page asks before anything is lost.
#pragma once

#include <QString>
#include <functional>

class QWidget;

namespace ddpprof::gui {

enum class Answer { first, second, cancel };

// `first` and `second` are what the buttons say; without `second` there are two buttons, the other being Cancel.
struct Question {
  QString title, text, first, second;
};
using Ask = std::function<Answer(const Question&)>;

// A dialog over `parent`; the safe answer, Cancel, is the default.
Ask ask_with_dialog(QWidget* parent);

}  // namespace ddpprof::gui
