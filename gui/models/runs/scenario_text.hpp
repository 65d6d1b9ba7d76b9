// Checks a scenario while it is typed: its problems with their places, and the words allowed at the cursor.
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

namespace ddpprof::gui {

struct TextProblem {
  int line = 1, column = 1;  // counted from 1; the first line if the place is unknown
  int length = 1;            // characters to underline
  QString key, message;
  QString text() const;  // "line 3, column 5: measure.steps: …"
};

// Returns the problems that scenario::read_text finds, in file order; empty if the scenario is valid. Thread-safe.
std::vector<TextProblem> check_scenario(const QString& text);

struct Suggestion {
  QString insert;  // replaces the word before the cursor
  QString about;   // one line: the allowed values, the default
  QString doc;     // the meaning
};

struct Completion {
  int begin = 0;  // begin of the word being typed, as an index into the text
  std::vector<Suggestion> suggestions;
};

// Returns the keys of the group at the cursor, or the values of a key that has choices. Returns none inside comments
// and quoted texts.
Completion complete_scenario(const QString& text, int cursor);

// Returns the dotted key of the line or flow-map entry at the cursor; otherwise "".
QString key_at(const QString& text, int cursor);
// Returns the key table's description of a key or group, as one paragraph; "" for an unknown key.
QString describe_key(const QString& key);

// Returns the scenario's name; "" if it has no valid name.
QString scenario_name(const QString& text);

// Returns the example scenario files that come with the program, in ascending order.
QStringList example_scenarios();

}  // namespace ddpprof::gui
