#include "runner/scenario/key_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runner/scenario/suggest.hpp"
#include "runner/scenario/values.hpp"

namespace ddpprof::scenario {
namespace {

constexpr Group groups[] = {
    {"", "The whole file."},
    {"workload", "The training of one worker."},
    {"workload.model", "The network."},
    {"workload.data", "Training data, its order, and how it is loaded ([data.md](../guide/data.md))."},
    {"workload.optimizer", "The optimizer."},
    {"ddp", "Options of DistributedDataParallel."},
    {"measure", "How a run is measured."},
    {"predict", "Predictions from the measurements."},
    {"learning_rate", "Learning-rate rule and schedule."},
    {"checkpoint", "Checkpoints: writing them and resuming from them ([checkpoints.md](../guide/checkpoints.md))."},
    {"output", "Where the results go."},
};

std::string range_text(const Limits& limits) {
  const auto show = [](double value) {
    return value == static_cast<double>(static_cast<std::int64_t>(value))
               ? std::to_string(static_cast<std::int64_t>(value))
               : emit_number(value);
  };
  const bool has_least = limits.least > -std::numeric_limits<double>::infinity();
  const bool has_most = limits.most < std::numeric_limits<double>::infinity();
  std::string lower, upper;
  if (has_least) lower = limits.above_least ? "above " + show(limits.least) : show(limits.least) + " or more";
  if (has_most) upper = limits.below_most ? "below " + show(limits.most) : "at most " + show(limits.most);
  if (has_least && has_most && !limits.above_least && !limits.below_most) {
    return show(limits.least) + " to " + show(limits.most);
  }
  return lower + (has_least && has_most ? " and " : "") + upper;
}

}  // namespace

std::span<const Group> key_groups() { return groups; }

const KeySpec* find_key(std::string_view key) {
  for (const KeySpec& spec : key_specs()) {
    if (spec.key == key) return &spec;
  }
  return nullptr;
}

bool is_group(std::string_view key) {
  return std::ranges::any_of(groups, [&](const Group& group) { return group.key == key; });
}

bool belongs_to(const KeySpec& spec, bool has_command, Model::Kind kind) {
  if (spec.form != Form::both && (spec.form == Form::command) != has_command) return false;
  return spec.model_kinds == 0 || (spec.model_kinds & bit(kind)) != 0;
}

std::string kinds_text(unsigned model_kinds) {
  std::vector<std::string_view> names;
  for (const Model::Kind kind : values_of<Model::Kind>) {
    if ((model_kinds & bit(kind)) != 0) names.emplace_back(to_string(kind));
  }
  return join(names);
}

std::string allowed_text(const KeySpec& spec) {
  const std::string range = range_text(spec.limits);
  switch (spec.type) {
    case KeyType::text:
      return spec.text_rule.empty() ? "text" : fmt::format("text ({})", spec.text_rule);
    case KeyType::integer:
      return "an integer, " + range + (spec.unset != "null" ? fmt::format(", or {}", spec.unset) : "");
    case KeyType::number:
      return "a number, " + range;
    case KeyType::boolean:
      return "true or false";
    case KeyType::choice:
      return spec.choices.size() == 1 ? fmt::format("'{}'", spec.choices[0]) : "one of: " + join(spec.choices);
    case KeyType::integer_list:
      return fmt::format("a list of {} or more integers, each {}{}", spec.limits.entries, range,
                         spec.limits.ascending ? ", ascending" : "");
    case KeyType::number_list:
      return fmt::format("a list of {} or more numbers, each {}{}", spec.limits.entries, range,
                         spec.limits.ascending ? ", ascending" : "");
    case KeyType::text_list:
      return fmt::format("a list of {} or more texts, each {}", spec.limits.entries, spec.text_rule);
    case KeyType::choice_list:
      return fmt::format("a list of {} or more out of: {}", spec.limits.entries, join(spec.choices));
  }
  return "";
}

Draft draft_of(const Scenario& scenario) {
  Draft draft{.scenario = scenario, .linear_in = std::nullopt, .linear_out = std::nullopt};
  const Model& model = scenario.workload.model;
  if (model.kind == Model::Kind::linear && model.widths.size() == 2) {
    draft.linear_in = model.widths[0];
    draft.linear_out = model.widths[1];
  }
  return draft;
}

}  // namespace ddpprof::scenario
