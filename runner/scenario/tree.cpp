#include "runner/scenario/tree.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <sstream>

#include "runner/scenario/suggest.hpp"
#include "runner/scenario/values.hpp"

namespace ddpprof::scenario {
namespace {

// yaml-cpp counts columns in bytes, editors in characters.
int character_column(std::string_view text, YAML::Mark mark) {
  std::size_t start = 0;
  for (int line = 0; line < mark.line; ++line) {
    const std::size_t end = text.find('\n', start);
    if (end == std::string_view::npos) return mark.column + 1;
    start = end + 1;
  }
  int column = 1;
  for (std::size_t i = start; i < text.size() && i < start + static_cast<std::size_t>(mark.column); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) ++column;
  }
  return column;
}

std::size_t offset_of(std::string_view text, YAML::Mark mark) {
  std::size_t start = 0;
  for (int line = 0; line < mark.line; ++line) {
    start = text.find('\n', start);
    if (start == std::string_view::npos) return text.size();
    ++start;
  }
  return std::min(text.size(), start + static_cast<std::size_t>(mark.column));
}

// Returns true if a quote is not closed. yaml-cpp accepts the end of the text as a closing quote, so half of a file
// would be read as one value.
bool unterminated(std::string_view text, YAML::Mark mark) {
  std::size_t i = offset_of(text, mark);
  if (i >= text.size() || (text[i] != '"' && text[i] != '\'')) return false;
  const char quote = text[i];
  for (++i; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      if (quote == '"' || i + 1 >= text.size() || text[i + 1] != '\'') return false;
      ++i;
    }
  }
  return true;
}

// Returns the names directly below a group.
std::vector<std::string_view> children(std::string_view group) {
  std::vector<std::string_view> names;
  const auto take = [&](std::string_view key) {
    if (key.empty() || (!group.empty() && !key.starts_with(std::string(group) + "."))) return;
    if (!group.empty()) key.remove_prefix(group.size() + 1);
    key = key.substr(0, key.find('.'));
    if (std::ranges::find(names, key) == names.end()) names.push_back(key);
  };
  for (const KeySpec& spec : key_specs()) take(spec.key);
  return names;
}

std::string below(std::string_view group, std::string_view name) {
  return group.empty() ? std::string(name) : fmt::format("{}.{}", group, name);
}

// Returns an explanation of yaml-cpp's message.
std::string explained(const std::string& message) {
  static constexpr struct {
    std::string_view fragment, explanation;
  } hints[] = {
      {"illegal map value",
       "unexpected ':' or wrong indentation; keys of one map start in the same column, a space "
       "follows ':', and text with ': ' in it needs quotes"},
      {"end of map flow not found", "a '{' without its '}'"},
      {"end of sequence flow not found", "a '[' without its ']'"},
      {"end of map not found", "a line that is neither part of the map above nor a new key; check its indentation"},
      {"end of sequence not found",
       "a line that is neither part of the list above nor a new key; check its indentation"},
      {"illegal flow end", "a '}' or ']' without a matching opening bracket"},
      {"illegal block entry", "a '-' where no list can start"},
      {"unknown token", "a character that cannot start a value here ('@', '`' and '%' need quotes)"},
      {"the referenced anchor is not defined", "an alias (*name) without its anchor (&name)"},
      {"bad file", "brackets nested too deeply"},
      {"unknown escape character", "an unknown escape sequence; inside \"…\" write \\\\ for a backslash"},
  };
  for (const auto& hint : hints) {
    if (message.find(hint.fragment) != std::string::npos) return std::string(hint.explanation);
  }
  return message;
}

// Returns the first tab in an indentation. YAML does not allow it.
std::optional<YAML::Mark> indentation_tab(std::string_view text) {
  YAML::Mark mark;
  mark.line = 0;
  mark.column = 0;
  bool indenting = true;
  for (const char c : text) {
    if (indenting && c == '\t') return mark;
    if (c == '\n') {
      indenting = true;
      ++mark.line;
      mark.column = 0;
      continue;
    }
    if (c != ' ') indenting = false;
    ++mark.column;
  }
  return std::nullopt;
}

// Returns the start of a second document. YAML::LoadAll is not used, because it does not end on text that starts with
// ','.
std::optional<YAML::Mark> second_document(const std::string& text) {
  struct Starts final : YAML::EventHandler {
    std::vector<YAML::Mark> marks;
    void OnDocumentStart(const YAML::Mark& mark) override { marks.push_back(mark); }
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
    void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
    void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
    void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
    void OnSequenceEnd() override {}
    void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
    void OnMapEnd() override {}
  } starts;
  std::istringstream in(text);
  YAML::Parser parser(in);
  while (starts.marks.size() < 2 && parser.HandleNextDocument(starts)) {
  }
  if (starts.marks.size() < 2) return std::nullopt;
  return starts.marks[1];
}

}  // namespace

const Value* Tree::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

void Tree::complain(const Source& source, YAML::Mark mark, std::string_view key, std::string message) {
  Problem problem{.file = source.label, .line = 0, .column = 0, .key = std::string(key), .message = std::move(message)};
  if (!source.override_ && mark.line >= 0) {
    problem.line = mark.line + 1;
    problem.column = character_column(source.text, mark);
  }
  problems_.push_back(std::move(problem));
}

void Tree::complain(const Value& value, YAML::Mark mark, std::string_view key, std::string message) {
  complain(*value.source, value.node.IsNull() ? value.mark : mark, key, std::move(message));
}

void Tree::complain_at(std::initializer_list<std::string_view> keys, std::string message) {
  for (const std::string_view key : keys) {
    if (const Value* value = find(key)) return complain(*value->source, value->mark, key, std::move(message));
  }
  const std::string_view key = *keys.begin();
  for (std::string_view group = key; !group.empty();) {
    const std::size_t dot = group.rfind('.');
    group = dot == std::string_view::npos ? std::string_view() : group.substr(0, dot);
    const auto found = groups_.find(group);
    if (found != groups_.end()) return complain(*found->second.source, found->second.mark, key, std::move(message));
  }
  if (file_ != nullptr) complain(*file_, YAML::Mark(), key, std::move(message));
}

std::vector<Problem> Tree::take_problems() {
  const auto place = [](const Problem& problem) {
    return std::tuple(problem.line == 0 && problem.file.starts_with("--set "), problem.line, problem.column);
  };
  std::ranges::stable_sort(problems_, [&](const Problem& a, const Problem& b) { return place(a) < place(b); });
  return std::move(problems_);
}

void Tree::add(const Source& source, const YAML::Node& node, YAML::Mark mark, const std::string& key) {
  if (is_group(key)) {
    if (node.IsMap()) {
      groups_[key] = {node, node.Mark(), &source};
      collect(source, node, key);
    } else if (node.IsNull()) {
      groups_[key] = {node, mark, &source};  // "measure:" with nothing below it: all defaults
    } else {
      complain(source, mark, key, fmt::format("expected a map of {}; found {}", join(children(key)), describe(node)));
      rejected_groups_.push_back(key);
    }
    return;
  }
  const auto check_scalar = [&](const YAML::Node& scalar) {
    const std::string& tag = scalar.Tag();
    if (!tag.empty() && tag != "?" && tag != "!" && !tag.starts_with("tag:yaml.org,2002:")) {
      complain(source, scalar.Mark(), key, fmt::format("the tag {} is not supported; expected a plain value", tag));
      return false;
    }
    if (scalar.IsScalar() && unterminated(source.text, scalar.Mark())) {
      complain(source, scalar.Mark(), key, "this quote is never closed");
      swallowed_ = true;
      return false;
    }
    return true;
  };
  bool sound = check_scalar(node);
  if (node.IsSequence()) {
    for (const YAML::Node& item : node) sound = check_scalar(item) && sound;
  }
  values_.insert_or_assign(key, Value{sound ? node : YAML::Node(YAML::NodeType::Undefined), mark, &source});
}

void Tree::unknown_key(const Source& source, YAML::Mark mark, const std::string& group, const std::string& name) {
  const std::vector<std::string_view> siblings = children(group);
  std::string message = "unknown key";
  if (name == "<<") {
    message = "YAML's merge key is not supported; repeat the keys, or use an alias for a whole value";
  } else if (const std::string_view near = nearest(name, siblings); !near.empty()) {
    message += fmt::format("; did you mean '{}'?", below(group, near));
  } else {
    // The key exists in another group: "steps" at the top level is most likely measure.steps.
    std::string elsewhere;
    for (const KeySpec& spec : key_specs()) {
      if (spec.key.substr(spec.key.rfind('.') + 1) != name || spec.key == name) continue;
      elsewhere += (elsewhere.empty() ? "'" : " or '") + std::string(spec.key) + "'";
    }
    for (const Group& other : key_groups()) {
      if (other.key != name && other.key.ends_with("." + name)) {
        elsewhere += (elsewhere.empty() ? "'" : " or '") + std::string(other.key) + "'";
      }
    }
    message +=
        elsewhere.empty() ? "; expected one of: " + join(siblings) : fmt::format("; did you mean {}?", elsewhere);
  }
  complain(source, mark, below(group, name), std::move(message));
}

void Tree::collect_pair(const Source& source, const YAML::Node& key, const YAML::Node& value,
                        const std::string& group) {
  if (!key.IsScalar()) {
    return complain(source, key.Mark(), group, fmt::format("a key must be text; found {}", describe(key)));
  }
  const std::string& name = key.Scalar();
  const std::string path = below(group, name);
  if (name.empty() || name.find('.') != std::string::npos || (!is_group(path) && find_key(path) == nullptr)) {
    // Dotted keys are for --set only.
    if (find_key(path) != nullptr || (is_group(path) && !name.empty())) {
      return complain(source, key.Mark(), path, "a key with dots is not allowed in a file; nest the keys instead");
    }
    return unknown_key(source, key.Mark(), group, name);
  }
  add(source, value, value.IsNull() ? key.Mark() : value.Mark(), path);
}

void Tree::collect(const Source& source, const YAML::Node& map, const std::string& group) {
  std::map<std::string, YAML::Mark> seen;
  for (const auto& pair : map) {
    if (pair.first.IsScalar()) {
      const auto [first, fresh] = seen.emplace(pair.first.Scalar(), pair.first.Mark());
      if (!fresh) {
        complain(source, pair.first.Mark(), below(group, pair.first.Scalar()),
                 fmt::format("duplicate key; the first is in line {}", first->second.line + 1));
        continue;
      }
    }
    collect_pair(source, pair.first, pair.second, group);
  }
}

void Tree::add_file(const Source& source) {
  file_ = &source;
  YAML::Node root;
  if (!load_yaml(source, root, *this, "")) return;
  if (root.IsNull() || !root.IsDefined()) {
    return complain(source, YAML::Mark::null_mark(), "", "the file is empty; expected a map of " + join(children("")));
  }
  if (!root.IsMap()) {
    return complain(source, root.Mark(), "",
                    fmt::format("expected a map of {}; found {}", join(children("")), describe(root)));
  }
  groups_[""] = {root, root.Mark(), &source};
  collect(source, root, "");
}

void Tree::add_override(const Source& source, std::string_view key, const YAML::Node& value) {
  const std::string path(key);
  if (!is_group(path) && find_key(path) == nullptr) {
    const std::size_t dot = path.rfind('.');
    std::string group = dot == std::string::npos ? "" : path.substr(0, dot);
    if (is_group(group)) return unknown_key(source, YAML::Mark::null_mark(), group, path.substr(dot + 1));
    std::vector<std::string_view> all;
    for (const KeySpec& spec : key_specs()) all.push_back(spec.key);
    const std::string_view near = nearest(path, all);
    return complain(source, YAML::Mark::null_mark(), path,
                    near.empty() ? "unknown key; expected a dotted key such as measure.steps"
                                 : fmt::format("unknown key; did you mean '{}'?", near));
  }
  // A group replaces all keys of that group in the file.
  std::erase_if(values_, [&](const auto& entry) { return entry.first.starts_with(path + "."); });
  add(source, value, value.Mark(), path);
}

bool load_yaml(const Source& source, YAML::Node& root, Tree& tree, std::string_view key) {
  try {
    if (const auto second = second_document(source.text)) {
      const std::string_view rest = std::string_view(source.text).substr(offset_of(source.text, *second));
      const bool separated = rest.starts_with("---") || source.text.find("\n...") != std::string::npos;
      tree.complain(source, *second, key,
                    separated ? "a second YAML document starts here; expected one"
                              : "not valid YAML: unexpected text after the end of the document");
      return false;
    }
    root.reset(YAML::Load(source.text));
    return true;
  } catch (const YAML::Exception& error) {
    const auto tab = indentation_tab(source.text);
    if (tab && tab->line <= error.mark.line) {
      tree.complain(source, *tab, key, "not valid YAML: a tab in the indentation; use spaces");
    } else {
      tree.complain(source, error.mark, key, "not valid YAML: " + explained(error.msg));
    }
    return false;
  }
}

}  // namespace ddpprof::scenario
