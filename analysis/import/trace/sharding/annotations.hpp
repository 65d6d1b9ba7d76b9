// Parses the annotations that PyTorch's FSDP writes around its work: "FSDP::all_gather (layers.0)" of FSDP2,
// "FullyShardedDataParallel._pre_forward" of FSDP1.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analysis/import/trace/rank_trace.hpp"

namespace ddpprof::import {

struct ShardingAnnotation {
  ShardingAction action = ShardingAction::other;
  // Name of the unit's module, with its process group if the module has parameters in several: "layers.0 [pg=2]".
  // Empty: the root, or the annotation has no name.
  std::string unit;
  bool nameless = false;  // of FSDP1
};

// None if the text is not an annotation of FSDP.
std::optional<ShardingAnnotation> sharding_annotation(std::string_view text);

}  // namespace ddpprof::import
