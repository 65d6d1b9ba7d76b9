#include "gui/models/runs/scenario_text.hpp"

#include <QCoreApplication>
#include <QDir>
#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "runner/scenario/keys.hpp"
#include "runner/scenario/read.hpp"

namespace ddpprof::gui {
namespace {

QString text_of(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

bool of_word(QChar c) { return c.isLetterOrNumber() || c == '_' || c == '-'; }

// Returns the length of the word, list or text that starts at the column; at least 1.
int length_at(const QString& line, int column) {
  int end = column - 1;
  while (end < line.size() && (of_word(line[end]) || line[end] == '.' || line[end] == '"')) ++end;
  return std::max(1, end - (column - 1));
}

// The cursor's place in YAML's maps: the groups around it, the key before it, and the word being typed.
struct Place {
  QStringList groups;
  QString key;           // of the entry; "" while it is being typed
  bool value = false;    // true after the key's colon
  bool nothing = false;  // true inside a comment or a quoted text
  int word = 0;          // begin of the word before the cursor
};

struct Level {
  int indent;
  QString key;
};

// Splits an entry of a block map: "  key: rest".
bool split_entry(const QString& line, int& indent, QString& key, int& after) {
  indent = 0;
  while (indent < line.size() && line[indent] == ' ') ++indent;
  int end = indent;
  while (end < line.size() && of_word(line[end])) ++end;
  if (end == indent || end >= line.size() || line[end] != ':') return false;
  if (end + 1 < line.size() && line[end + 1] != ' ') return false;
  key = line.mid(indent, end - indent);
  after = end + 1;
  return true;
}

// Scans a value that may open flow maps and lists, up to its end.
class Flow {
 public:
  void walk(const QString& part, const QString& entry_key) {
    if (open_.isEmpty()) key_ = entry_key;
    for (const QChar c : part) {
      if (comment_) break;
      if (!quote_.isNull()) {
        if (c == quote_) quote_ = {};
      } else if (c == '"' || c == '\'') {
        quote_ = c;
      } else if (c == '#' && (previous_ == ' ' || previous_.isNull())) {
        comment_ = true;
      } else if (c == '{' || c == '[') {
        open_ << key_;
        kinds_ << c;
        key_.clear();
        word_.clear();
      } else if ((c == '}' || c == ']') && !open_.isEmpty()) {
        open_.removeLast();
        kinds_.removeLast();
        key_.clear();
        word_.clear();
      } else if (c == ',') {
        if (in_map()) key_.clear();
        word_.clear();
      } else if (c == ':' && in_map()) {
        key_ = word_;
        word_.clear();
      } else if (of_word(c)) {
        word_ += c;
      }
      previous_ = c;
    }
    comment_here_ = comment_;
    comment_ = false;
    previous_ = {};
  }

  bool inside() const { return !open_.isEmpty(); }
  bool in_map() const { return !kinds_.isEmpty() && kinds_.last() == '{'; }
  bool quoted_or_comment() const { return !quote_.isNull() || comment_here_; }
  const QStringList& open() const { return open_; }
  const QString& key() const { return key_; }
  void end_line() { comment_here_ = false; }

 private:
  QStringList open_;  // the key before each open bracket
  QList<QChar> kinds_;
  QString key_, word_;
  QChar quote_, previous_;
  bool comment_ = false, comment_here_ = false;
};

Place place_of(const QString& text, int cursor) {
  Place place;
  place.word = std::clamp(cursor, 0, static_cast<int>(text.size()));
  while (place.word > 0 && of_word(text[place.word - 1])) --place.word;
  std::vector<Level> levels;
  Flow flow;
  const QString before = text.left(cursor);
  const QStringList lines = before.split('\n');
  for (qsizetype i = 0; i < lines.size(); ++i) {
    const QString& line = lines[i];
    const bool last = i + 1 == lines.size();
    flow.end_line();
    if (flow.inside()) {
      flow.walk(line, {});
      continue;
    }
    int indent = 0, after = 0;
    QString key;
    const bool entry = split_entry(line, indent, key, after);
    const bool empty = line.trimmed().isEmpty() || line.trimmed().startsWith('#');
    if (!empty || last) {
      while (!levels.empty() && levels.back().indent >= indent) levels.pop_back();
    }
    if (entry) {
      levels.push_back({indent, key});
      flow = {};
      flow.walk(line.mid(after), key);
    } else if (last) {
      place.nothing = line.trimmed().startsWith('#');
    }
    if (!last) continue;
    for (const Level& level : levels) place.groups << level.key;
    if (entry) {
      place.groups.removeLast();
      place.key = key;
      place.value = true;
    } else if (line.trimmed().startsWith('-') && !place.groups.isEmpty()) {  // an entry of a block list
      place.key = place.groups.takeLast();
      place.value = true;
    }
  }
  if (flow.inside()) {  // the last level is the entry that opened the outermost bracket
    place.groups.clear();
    for (const Level& level : levels) place.groups << level.key;
    if (!place.groups.isEmpty()) place.groups.removeLast();
    for (const QString& key : flow.open())
      if (!key.isEmpty()) place.groups << key;
    place.key = flow.key();
    place.value = !flow.in_map() || !flow.key().isEmpty();
    if (!flow.in_map() && !place.groups.isEmpty()) {  // a list: its entries are values of its key
      place.key = place.groups.takeLast();
    }
  }
  place.nothing = place.nothing || flow.quoted_or_comment();
  return place;
}

QString dotted(const QStringList& groups, const QString& key) {
  QStringList all = groups;
  if (!key.isEmpty()) all << key;
  return all.join('.');
}

const scenario::KeyDoc* find(const QString& key) {
  for (const scenario::KeyDoc& doc : scenario::keys())
    if (text_of(doc.key) == key) return &doc;
  return nullptr;
}

QString about(const scenario::KeyDoc& doc) {
  QString text = QString::fromStdString(doc.allowed);
  if (!doc.unit.empty()) text += " [" + text_of(doc.unit) + "]";
  text += doc.required ? QStringLiteral("; required")
                       : QStringLiteral("; default %1").arg(QString::fromStdString(doc.default_value));
  if (!doc.only_for.empty()) text += QStringLiteral("; only for %1").arg(text_of(doc.only_for));
  return text;
}

// Returns the model's kind if the text contains a valid one; otherwise "".
QString model_kind(const QString& text) {
  const scenario::KeyDoc* kinds = find("workload.model.kind");
  qsizetype at = text.indexOf(QLatin1String("kind:"));
  if (kinds == nullptr || at < 0) return {};
  at += 5;
  while (at < text.size() && text[at] == ' ') ++at;
  qsizetype end = at;
  while (end < text.size() && of_word(text[end])) ++end;
  const QString kind = text.mid(at, end - at);
  for (const std::string_view known : kinds->choices)
    if (text_of(known) == kind) return kind;
  return {};
}

void add_keys(const QString& group, const QString& kind, const QString& word, Completion& completion) {
  QStringList seen;
  for (const scenario::KeyDoc& doc : scenario::keys()) {
    QString rest = text_of(doc.key);
    if (!group.isEmpty()) {
      if (!rest.startsWith(group + ".")) continue;
      rest.remove(0, group.size() + 1);
    }
    const bool nested = rest.contains('.');
    const QString name = rest.section('.', 0, 0);
    if (seen.contains(name) || !name.startsWith(word)) continue;
    if (!nested && !doc.only_for.empty() && !kind.isEmpty() && !text_of(doc.only_for).split(", ").contains(kind))
      continue;
    seen << name;
    const QString whole = group.isEmpty() ? name : group + "." + name;
    if (nested)
      completion.suggestions.push_back({name + ":", QStringLiteral("a group of keys"), describe_key(whole)});
    else
      completion.suggestions.push_back({name + ": ", about(doc), text_of(doc.doc)});
  }
}

void add_values(const QString& key, const QString& word, Completion& completion) {
  const scenario::KeyDoc* doc = find(key);
  if (doc == nullptr) return;
  std::vector<QString> values;
  if (doc->type == scenario::KeyType::boolean) values = {"true", "false"};
  for (const std::string_view choice : doc->choices) values.push_back(text_of(choice));
  if (doc->nullable && !values.empty()) values.emplace_back("null");
  for (const QString& value : values)
    if (value.startsWith(word)) completion.suggestions.push_back({value, about(*doc), text_of(doc->doc)});
}

}  // namespace

QString TextProblem::text() const {
  QString all = QCoreApplication::translate("ddpprof", "line %1, column %2: ").arg(line).arg(column);
  if (!key.isEmpty()) all += key + ": ";
  return all + message;
}

std::vector<TextProblem> check_scenario(const QString& text) {
  const QStringList lines = text.split('\n');
  std::vector<TextProblem> all;
  for (const scenario::Problem& problem : scenario::read_text(text.toStdString(), "").problems) {
    TextProblem shown;
    shown.line = std::clamp(problem.line, 1, static_cast<int>(lines.size()));
    shown.column = problem.line < 1 ? 1 : std::max(1, problem.column);
    shown.length = length_at(lines[shown.line - 1], shown.column);
    shown.key = QString::fromStdString(problem.key);
    shown.message = QString::fromStdString(problem.message);
    all.push_back(std::move(shown));
  }
  return all;
}

Completion complete_scenario(const QString& text, int cursor) {
  const Place place = place_of(text, cursor);
  Completion completion;
  completion.begin = place.word;
  if (place.nothing) return completion;
  const QString word = text.mid(place.word, cursor - place.word);
  if (place.value)
    add_values(dotted(place.groups, place.key), word, completion);
  else
    add_keys(place.groups.join('.'), model_kind(text), word, completion);
  return completion;
}

QString key_at(const QString& text, int cursor) {
  int end = std::clamp(cursor, 0, static_cast<int>(text.size()));
  while (end < text.size() && of_word(text[end])) ++end;
  if (end < text.size() && text[end] == ':') ++end;  // include the colon of a key
  const Place place = place_of(text, end);
  if (place.nothing) return {};
  return dotted(place.groups, place.key);
}

QString describe_key(const QString& key) {
  if (const scenario::KeyDoc* doc = find(key)) return key + ": " + about(*doc) + ". " + text_of(doc->doc);
  for (const scenario::GroupDoc& group : scenario::group_docs())
    if (!key.isEmpty() && text_of(group.key) == key) return key + ": " + text_of(group.doc);
  return {};
}

QString scenario_name(const QString& text) {
  const scenario::ReadResult read = scenario::read_text(text.toStdString(), "");
  for (const scenario::Problem& problem : read.problems)
    if (problem.key == "name" || problem.key.empty()) return {};
  return QString::fromStdString(read.scenario.name);
}

QStringList example_scenarios() {
  QStringList folders = {QCoreApplication::applicationDirPath() + "/" + DDPPROF_EXAMPLES_FROM_BIN,
                         QStringLiteral(DDPPROF_EXAMPLES_IN_SOURCE)};
  for (const QString& folder : folders) {
    QStringList files;
    for (const QFileInfo& file : QDir(folder).entryInfoList({"*.yaml", "*.yml"}, QDir::Files, QDir::Name))
      files << file.absoluteFilePath();
    if (!files.isEmpty()) return files;
  }
  return {};
}

}  // namespace ddpprof::gui
