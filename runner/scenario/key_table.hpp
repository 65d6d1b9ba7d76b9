// The table of keys: for each key its member of Scenario, its limits, and its text form. Private to this folder.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runner/scenario/keys.hpp"
#include "runner/scenario/scenario.hpp"

namespace ddpprof::scenario {

// The result of reading a file: the scenario, and the two keys for a linear model's widths.
struct Draft {
  Scenario scenario;
  std::optional<std::int64_t> linear_in;
  std::optional<std::int64_t> linear_out;
};

// The form of a scenario: it trains a model of ddpprof's worker, or starts the user's own command.
enum class Form { model, command, both };

struct Limits {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool above_least = false;  // `least` itself is excluded
  bool below_most = false;   // `most` itself is excluded
  std::size_t entries = 0;   // minimum number of entries of a list
  bool ascending = false;    // entries of a list must be strictly ascending
};

struct Complaint {
  YAML::Mark mark;
  std::string message;
};

struct KeySpec {
  std::string_view key;
  KeyType type;
  std::string_view unit;
  bool required = false;
  bool nullable = false;
  std::string_view unset = "null";  // nullable: the text for "unset", also in a file
  Limits limits = {};
  std::span<const std::string_view> choices = {};
  std::string_view text_rule = {};  // for KeyType::text: the required form
  bool multiline = false;           // for texts: line breaks and tabs are allowed
  Form form = Form::model;          // scenarios that have this key
  unsigned model_kinds = 0;         // bits 1 << Model::Kind of the kinds that have this key; 0: all
  std::string_view doc;
  // Stores the node's value in the draft. On an error, adds a complaint and does not change the draft.
  void (*assign)(const KeySpec&, const YAML::Node&, Draft&, std::vector<Complaint>&) = nullptr;
  std::string (*emit)(const KeySpec&, const Draft&) = nullptr;  // the value as YAML
};

struct Group {
  std::string_view key;
  std::string_view doc;
};

std::span<const KeySpec> key_specs();
void add_data_specs(std::vector<KeySpec>& specs);             // appends the keys of workload.data
void add_command_specs(std::vector<KeySpec>& specs);          // appends the keys of a command in the group workload
void add_command_measure_specs(std::vector<KeySpec>& specs);  // the same in the group measure
void add_learning_rate_specs(std::vector<KeySpec>& specs);    // appends the keys of learning_rate
std::span<const Group> key_groups();
const KeySpec* find_key(std::string_view key);  // nullptr if the key is unknown
bool is_group(std::string_view key);            // "" (the whole file) is a group

constexpr unsigned bit(Model::Kind kind) { return 1u << static_cast<unsigned>(kind); }
bool belongs_to(const KeySpec&, bool has_command, Model::Kind);
std::string kinds_text(unsigned model_kinds);  // "resnet18, resnet50"
std::string allowed_text(const KeySpec&);      // "integer, 1 or more"

Draft draft_of(const Scenario&);

}  // namespace ddpprof::scenario
