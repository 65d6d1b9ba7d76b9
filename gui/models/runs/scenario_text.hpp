// A scenario while it is typed: what is wrong with it and where, and what may stand at the cursor.
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

namespace ddpprof::gui {

struct TextProblem {
  int line = 1, column = 1;  // 1-based; of the first line where the place is unknown
  int length = 1;            // characters to underline
  QString key, message;
  QString text() const;  // "line 3, column 5: measure.steps: …"
};

// scenario::read_text's problems, in the order of the file; none when the scenario is sound. For any thread.
std::vector<TextProblem> check_scenario(const QString& text);

struct Suggestion {
  QString insert;  // replaces the word before the cursor
  QString about;   // one line: what may stand there, the default
  QString doc;     // what it means
};

struct Completion {
  int begin = 0;  // of the word that is being typed, in the text
  std::vector<Suggestion> suggestions;
};

// Keys of the group that the cursor is in, or the values that a key of choices takes; nothing inside comments and
// texts.
Completion complete_scenario(const QString& text, int cursor);

// The dotted key of the line or flow-map entry the cursor is in; "" where there is none.
QString key_at(const QString& text, int cursor);
// What the key table says of a key or a group, as one paragraph; "" for an unknown one.
QString describe_key(const QString& key);

// The scenario's name, "" while it has none that would do.
QString scenario_name(const QString& text);

// Scenario files to start from: those that come with the program, ascending.
QStringList example_scenarios();

}  // namespace ddpprof::gui
