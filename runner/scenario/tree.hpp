// Collects the values of a YAML document by dotted key, with their positions, and reports unknown and duplicate keys.
// Private to this folder.
#pragma once

#include <yaml-cpp/yaml.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runner/scenario/key_table.hpp"
#include "runner/scenario/read.hpp"

namespace ddpprof::scenario {

// A text that problems point into: the scenario file, or one override.
struct Source {
  std::string label;  // file name, or "--set KEY=VALUE"
  std::string text;   // the text to which yaml-cpp's marks refer
  bool override_ = false;
};

struct Value {
  YAML::Node node;
  YAML::Mark mark;  // the value's position; the key's position if the value is empty
  const Source* source = nullptr;
};

class Tree {
 public:
  // Both keep pointers to `source`, which must outlive the tree.
  void add_file(const Source& source);
  void add_override(const Source& source, std::string_view key, const YAML::Node& value);

  const Value* find(std::string_view key) const;
  // Returns true if the file is a map without an unclosed quote. Only then can missing keys be reported.
  bool whole() const { return groups_.contains("") && !swallowed_; }
  const std::vector<std::string>& rejected_groups() const { return rejected_groups_; }

  void complain(const Source& source, YAML::Mark mark, std::string_view key, std::string message);
  void complain(const Value& value, YAML::Mark mark, std::string_view key, std::string message);
  // Reports a problem at the first of `keys` that is in the file, else at the group in which it is missing, else at the
  // start of the file.
  void complain_at(std::initializer_list<std::string_view> keys, std::string message);

  // Returns the problems in the order of the file, overrides last.
  std::vector<Problem> take_problems();

 private:
  void collect(const Source& source, const YAML::Node& map, const std::string& group);
  void collect_pair(const Source& source, const YAML::Node& key, const YAML::Node& value, const std::string& group);
  void add(const Source& source, const YAML::Node& node, YAML::Mark mark, const std::string& key);
  void unknown_key(const Source& source, YAML::Mark mark, const std::string& group, const std::string& name);

  std::map<std::string, Value, std::less<>> values_;  // leaf keys
  std::map<std::string, Value, std::less<>> groups_;
  std::vector<std::string> rejected_groups_;  // groups whose value is not a map
  bool swallowed_ = false;                    // an unclosed quote contains the rest of the file
  const Source* file_ = nullptr;
  std::vector<Problem> problems_;
};

// Parses one YAML document. On a syntax error, or more than one document, reports the problem and returns false.
bool load_yaml(const Source& source, YAML::Node& root, Tree& tree, std::string_view key);

}  // namespace ddpprof::scenario
