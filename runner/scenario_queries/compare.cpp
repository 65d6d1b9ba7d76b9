#include "runner/scenario_queries/compare.hpp"

#include <map>
#include <string>
#include <vector>

#include "analysis/predict/predict.hpp"
#include "analysis/report/tables/compare/compare.hpp"
#include "runner/scenario/read.hpp"
#include "runner/scenario_queries/stored_scenario.hpp"

namespace ddpprof::scenario_queries {
namespace {

struct Keys {
  std::vector<scenario::KeyValue> values;
  std::string missing;  // why the keys are missing
  std::string text;     // the stored text of a scenario that this version cannot read
};

Keys keys_of(store::Database& database) {
  try {
    const auto scenario = stored_scenario(database);
    if (!scenario) return {{}, "none stored", ""};
    return {scenario::key_values(*scenario), "", ""};
  } catch (const fit::NotSupported& error) {
    return {{}, "not understood: " + error.reason(), stored_scenario_text(database)->text};
  }
}

}  // namespace

report::Report compare(store::Database& a, store::Database& b, const std::function<bool()>& stop) {
  const Keys of_a = keys_of(a), of_b = keys_of(b);
  std::vector<report::KeyDifference> differences;
  if (!of_a.missing.empty() || !of_b.missing.empty()) {
    // Two unreadable scenarios are compared by their texts, because the reasons name their files.
    if (of_a.missing.empty() != of_b.missing.empty() || of_a.text != of_b.text)
      differences.push_back(
          {"(whole)", of_a.missing.empty() ? "stored" : of_a.missing, of_b.missing.empty() ? "stored" : of_b.missing});
    return report::compare(a, b, differences, stop);
  }
  std::map<std::string, std::string> left;
  for (const scenario::KeyValue& key : of_b.values) left[key.key] = key.value;
  for (const scenario::KeyValue& key : of_a.values) {
    const auto other = left.find(key.key);
    const std::string value = other == left.end() ? "" : other->second;
    if (value != key.value) differences.push_back({key.key, key.value, value});
    if (other != left.end()) left.erase(other);
  }
  for (const scenario::KeyValue& key : of_b.values)
    if (left.contains(key.key)) differences.push_back({key.key, "", key.value});
  return report::compare(a, b, differences, stop);
}

}  // namespace ddpprof::scenario_queries
