// What one tensor of a user's own model looks like, written as "float32[3,224,224]" or "int64[128]<50257".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/scenario/scenario.hpp"

namespace ddpprof::scenario {

struct TensorSpec {
  enum class Type { float32, int64 };
  Type type = Type::float32;
  std::vector<std::int64_t> shape;  // of one sample, without the batch dimension; empty: one number a sample
  std::int64_t below = 0;           // int64: values are 0 to below - 1

  std::int64_t elements() const;
  bool operator==(const TensorSpec&) const = default;
};

// Nothing, with the reason in `why`, when the text is no such notation.
std::optional<TensorSpec> parse_tensor_spec(std::string_view text, std::string& why);
std::string to_string(const TensorSpec&);

// What a model is fed: one entry an argument of its forward; and what the loss compares its output with. A torchscript
// model's come from the scenario, which must have been checked.
std::vector<TensorSpec> input_specs(const Model&);
TensorSpec target_spec(const Model&, LossKind);

}  // namespace ddpprof::scenario
