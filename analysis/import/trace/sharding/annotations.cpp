#include "analysis/import/trace/sharding/annotations.hpp"

#include <array>
#include <span>
#include <utility>

namespace ddpprof::import {

namespace {

using ActionNames = std::span<const std::pair<std::string_view, ShardingAction>>;

constexpr std::array<std::pair<std::string_view, ShardingAction>, 7> fsdp2_names{{
    {"root_pre_forward", ShardingAction::root_pre_forward},
    {"pre_forward", ShardingAction::pre_forward},
    {"post_forward", ShardingAction::post_forward},
    {"all_gather", ShardingAction::all_gather},
    {"pre_backward", ShardingAction::pre_backward},
    {"post_backward_accumulate", ShardingAction::post_backward},
    {"post_backward_reduce", ShardingAction::reduce},
}};

constexpr std::array<std::pair<std::string_view, ShardingAction>, 8> fsdp1_names{{
    {"_root_pre_forward", ShardingAction::root_pre_forward},
    {"_pre_forward", ShardingAction::pre_forward},
    {"_post_forward", ShardingAction::post_forward},
    {"_pre_backward_hook", ShardingAction::pre_backward},
    {"_post_backward_hook", ShardingAction::reduce},
    {"_pre_forward_prefetch", ShardingAction::prefetch},
    {"_pre_backward_prefetch", ShardingAction::prefetch},
    {"_post_backward_prefetch", ShardingAction::prefetch},
}};

ShardingAction action_of(std::string_view text, ActionNames names) {
  for (const auto& [name, action] : names)
    if (text == name) return action;
  return ShardingAction::other;
}

}  // namespace

std::optional<ShardingAnnotation> sharding_annotation(std::string_view text) {
  constexpr std::string_view fsdp1 = "FullyShardedDataParallel.", fsdp2 = "FSDP::", target = "_prefetch for ";
  if (text.starts_with(fsdp1)) {
    text.remove_prefix(fsdp1.size());
    if (text == "forward") return std::nullopt;  // around the forward's work, not work of FSDP
    return ShardingAnnotation{action_of(text, fsdp1_names), {}, true};
  }
  if (!text.starts_with(fsdp2)) return std::nullopt;
  text.remove_prefix(fsdp2.size());
  if (const std::size_t at = text.find(target); at != std::string_view::npos)
    return ShardingAnnotation{ShardingAction::prefetch, std::string(text.substr(at + target.size()))};
  ShardingAnnotation annotation;
  const std::size_t open = text.find(" ("), close = text.rfind(')');
  if (open != std::string_view::npos && close != std::string_view::npos && close > open) {
    annotation.unit = std::string(text.substr(open + 2, close - open - 2)).append(text.substr(close + 1));
    text = text.substr(0, open);
  }
  annotation.action = action_of(text, fsdp2_names);
  return annotation;
}

}  // namespace ddpprof::import
