// Binds a key of the table to a member of the draft. Private to this folder.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "runner/scenario/key_table.hpp"
#include "runner/scenario/values.hpp"

namespace ddpprof::scenario {

template <typename T>
void parse_into(const KeySpec& spec, const YAML::Node& node, T& target, std::vector<Complaint>& complaints) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    if (const auto value = parse_integer(spec, node, complaints)) target = *value;
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    if (const auto value = parse_integer(spec, node, complaints)) target = static_cast<std::uint64_t>(*value);
  } else if constexpr (std::is_same_v<T, double>) {
    if (const auto value = parse_number(spec, node, complaints)) target = *value;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (const auto value = parse_boolean(spec, node, complaints)) target = *value;
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (auto value = parse_text(spec, node, complaints)) target = std::move(*value);
  } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
    if (auto value = parse_integers(spec, node, complaints)) target = std::move(*value);
  } else if constexpr (std::is_same_v<T, std::vector<double>>) {
    if (auto value = parse_numbers(spec, node, complaints)) target = std::move(*value);
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    if (auto value = parse_texts(spec, node, complaints)) target = std::move(*value);
  } else if constexpr (std::is_enum_v<T>) {
    if (const auto index = parse_choice(spec, node, complaints)) target = values_of<T>[*index];
  } else {
    using Entry = typename T::value_type;
    if constexpr (std::is_same_v<T, std::optional<Entry>>) {
      if (spec.unset == "null" ? node.IsNull() : node.IsScalar() && node.Scalar() == spec.unset) {
        target.reset();
        return;
      }
      const std::size_t before = complaints.size();
      Entry value{};
      parse_into(spec, node, value, complaints);
      if (complaints.size() == before) target = value;
    } else {
      const auto indices = parse_choices(spec, node, complaints);
      if (!indices) return;
      target.clear();
      for (const std::size_t index : *indices) target.push_back(values_of<Entry>[index]);
    }
  }
}

template <typename T>
std::string emit_value(const KeySpec& spec, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return emit_number(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return emit_text(value);
  } else if constexpr (std::is_enum_v<T>) {
    return word_of(value);
  } else if constexpr (requires { value.has_value(); }) {
    return value ? emit_value(spec, *value) : std::string(spec.unset);
  } else {
    std::string list = "[";
    for (const auto& entry : value) list += (list.size() > 1 ? ", " : "") + emit_value(spec, entry);
    return list + "]";
  }
}

// Returns the spec bound to a member. `path` are the member pointers that lead to it, starting at Draft.
template <auto... path>
KeySpec bound(KeySpec spec) {
  spec.assign = [](const KeySpec& own, const YAML::Node& node, Draft& draft, std::vector<Complaint>& complaints) {
    parse_into(own, node, (draft.*....*path), complaints);
  };
  spec.emit = [](const KeySpec& own, const Draft& draft) { return emit_value(own, (draft.*....*path)); };
  return spec;
}

}  // namespace ddpprof::scenario
