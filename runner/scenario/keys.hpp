// Every key of a scenario file, declared once. The reader's checks and docs/reference/scenario.md are made from this
// table.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ddpprof::scenario {

enum class KeyType { text, integer, number, boolean, choice, integer_list, number_list, text_list, choice_list };

struct KeyDoc {
  std::string_view key;  // dotted path: "measure.steps"
  KeyType type;
  std::string_view unit;  // "" if it has none
  bool required;
  bool nullable;              // `null` means "unset"; `doc` explains it
  std::string default_value;  // as YAML; "" if the key is required
  std::string allowed;        // the accepted values: "integer, 1 or more", "one of: ddp, dp"
  std::string_view only_for;  // model kinds that have this key, "resnet18, resnet50", or "workload.command"; "" for all
  std::string_view doc;
  std::span<const std::string_view> choices;  // of a choice or a list of choices
};

struct GroupDoc {
  std::string_view key, doc;  // "measure"; "" is the whole file
};
std::span<const GroupDoc> group_docs();

// Returns all keys in the order of a file; keys of one group are adjacent.
std::span<const KeyDoc> keys();

const char* to_string(KeyType);

// Returns the whole text of docs/reference/scenario.md.
std::string scenario_markdown();

}  // namespace ddpprof::scenario
