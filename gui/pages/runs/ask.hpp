// The questions that the Runs page asks before data is lost.
#pragma once

#include <QString>
#include <functional>

class QWidget;

namespace ddpprof::gui {

enum class Answer { first, second, cancel };

// `first` and `second` are texts of buttons. If `second` is empty, the dialog has `first` and Cancel only.
struct Question {
  QString title, text, first, second;
};
using Ask = std::function<Answer(const Question&)>;

// Returns an Ask that opens a dialog over `parent`. Cancel is the default, because it loses nothing.
Ask ask_with_dialog(QWidget* parent);

}  // namespace ddpprof::gui
