#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "runner/scenario/key_table.hpp"
#include "runner/scenario/read.hpp"

namespace ddpprof::scenario {

std::string to_yaml(const Scenario& scenario) {
  const Draft draft = draft_of(scenario);
  std::string out;
  std::string open;  // the current group
  for (const KeySpec& spec : key_specs()) {
    if (!belongs_to(spec, scenario.has_command(), scenario.workload.model.kind)) continue;
    // Write the headings of groups that the previous key was not in.
    for (std::size_t dot = spec.key.find('.'); dot != std::string_view::npos; dot = spec.key.find('.', dot + 1)) {
      const std::string group(spec.key.substr(0, dot));
      if (open == group || open.starts_with(group + ".")) continue;
      const auto depth = static_cast<std::size_t>(std::count(group.begin(), group.end(), '.'));
      out += fmt::format("{}{}:\n", std::string(2 * depth, ' '), group.substr(group.rfind('.') + 1));
    }
    const std::size_t last = spec.key.rfind('.');
    open = last == std::string_view::npos ? "" : std::string(spec.key.substr(0, last));
    const auto depth = static_cast<std::size_t>(std::count(spec.key.begin(), spec.key.end(), '.'));
    out += fmt::format("{}{}: {}\n", std::string(2 * depth, ' '), spec.key.substr(last + 1), spec.emit(spec, draft));
  }
  return out;
}

std::vector<KeyValue> key_values(const Scenario& scenario) {
  const Draft draft = draft_of(scenario);
  std::vector<KeyValue> all;
  for (const KeySpec& spec : key_specs())
    if (belongs_to(spec, scenario.has_command(), scenario.workload.model.kind))
      all.push_back({std::string(spec.key), spec.emit(spec, draft)});
  return all;
}

}  // namespace ddpprof::scenario
