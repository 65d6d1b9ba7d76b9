// Every key a scenario file may hold, declared once: the reader's checks and docs/reference/scenario.md are made from
// it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ddpprof::scenario {

enum class KeyType { text, integer, number, boolean, choice, integer_list, number_list, text_list, choice_list };

struct KeyDoc {
  std::string_view key;  // dotted path: "measure.steps"
  KeyType type;
  std::string_view unit;  // "" where it has none
  bool required;
  bool nullable;              // `null` means "unset", which `doc` explains
  std::string default_value;  // as YAML; "" when the key is required
  std::string allowed;        // what the reader accepts: "integer, 1 or more", "one of: ddp, dp"
  std::string_view only_for;  // model kinds the key belongs to, "" for all: "resnet18, resnet50"
  std::string_view doc;
  std::span<const std::string_view> choices;  // of a choice or a list of choices
};

struct GroupDoc {
  std::string_view key, doc;  // "measure"; "" is the whole file
};
std::span<const GroupDoc> group_docs();

// In the order in which a file lists them; keys of one group are adjacent.
std::span<const KeyDoc> keys();

const char* to_string(KeyType);

// docs/reference/scenario.md, whole.
std::string scenario_markdown();

}  // namespace ddpprof::scenario
