// Type and shape of a tensor of the user's model, written as "float32[3,224,224]" or "int64[128]<50257".
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
  std::vector<std::int64_t> shape;  // of one sample, without the batch dimension; empty: one number per sample
  std::int64_t below = 0;           // int64: values are 0 to below - 1

  std::int64_t elements() const;
  bool operator==(const TensorSpec&) const = default;
};

// Returns nullopt and sets `why` if the text is not valid.
std::optional<TensorSpec> parse_tensor_spec(std::string_view text, std::string& why);
std::string to_string(const TensorSpec&);

// input_specs returns the arguments of the model's forward, target_spec the tensor that the loss compares with the
// output. For a torchscript model they come from the scenario. Throws std::invalid_argument if its texts are not valid.
std::vector<TensorSpec> input_specs(const Model&);
TensorSpec target_spec(const Model&, LossKind);

}  // namespace ddpprof::scenario
