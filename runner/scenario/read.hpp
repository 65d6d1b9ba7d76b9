// Reads and checks a scenario file, and writes a scenario as YAML.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "runner/scenario/scenario.hpp"

namespace ddpprof::scenario {

struct Problem {
  std::string file;     // as given; "--set KEY=VALUE" for an override
  int line = 0;         // 1-based, 0 if unknown
  int column = 0;       // 1-based, in characters
  std::string key;      // dotted path, e.g. "measure.steps"
  std::string message;  // value found, value expected, "did you mean"

  std::string text() const;  // "file:line:column: key: message"; unknown parts are omitted
};

struct ReadResult {
  Scenario scenario;
  std::string source;             // the text as read
  std::vector<Problem> problems;  // empty: the scenario is valid
};

// `overrides` are "dotted.key=YAML value". They are applied after the file and checked in the same way. Invalid input
// is reported in `problems`, not thrown.
ReadResult read_text(const std::string& text, const std::string& file, std::span<const std::string> overrides = {});
ReadResult read_file(const std::filesystem::path& path, std::span<const std::string> overrides = {});

// Makes the relative paths of a scenario that was read from `file` relative to the file's folder. Paths that
// `overrides` set stay relative to the current folder.
void resolve_paths(Scenario&, const std::filesystem::path& file, std::span<const std::string> overrides = {});

// Returns the scenario with every key. Reading the text gives an equal scenario.
std::string to_yaml(const Scenario&);

// The same as key-value pairs, for example "measure.steps" and its value as YAML, in the order of the file.
struct KeyValue {
  std::string key, value;
};
std::vector<KeyValue> key_values(const Scenario&);

}  // namespace ddpprof::scenario
