// Reads a scenario file and says precisely what is wrong with it; writes a scenario back as YAML.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "runner/scenario/scenario.hpp"

namespace ddpprof::scenario {

struct Problem {
  std::string file;     // as given; "--set KEY=VALUE" for an override
  int line = 0;         // 1-based, 0 when unknown
  int column = 0;       // 1-based, in characters
  std::string key;      // dotted path, e.g. "measure.steps"
  std::string message;  // what is wrong, what was expected, "did you mean"

  std::string text() const;  // "file:line:column: key: message", without what is unknown
};

struct ReadResult {
  Scenario scenario;
  std::string source;             // the text as read
  std::vector<Problem> problems;  // empty: the scenario is sound
};

// `overrides` are "dotted.key=YAML value", applied after the file, checked the same way. Never throws on bad input.
ReadResult read_text(const std::string& text, const std::string& file, std::span<const std::string> overrides = {});
ReadResult read_file(const std::filesystem::path& path, std::span<const std::string> overrides = {});

// Every key written out; reading it back gives an equal scenario.
std::string to_yaml(const Scenario&);

// The same key by key: "measure.steps" and its value as YAML, in the order of the file.
struct KeyValue {
  std::string key, value;
};
std::vector<KeyValue> key_values(const Scenario&);

}  // namespace ddpprof::scenario
