// What an operation's recorded input shapes and types say: `[[64, 784], [1024, 784]]` and `["float", "float"]`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpprof::import {

struct FirstInput {
  std::int64_t elements = 0;
  std::int32_t element_bytes = 0;  // 0: a type that is not known
  std::string shape;               // "[64, 784]"
};

// Of the first input that is a tensor, or the first of a list of tensors; none where there is none.
std::optional<FirstInput> first_input(std::string_view shapes, std::string_view types);

// The leading extent of an operation's input, of those whose input leads with the batch: convolutions, linear layers,
// embeddings. None for other operations.
std::optional<std::int64_t> batch_of(std::string_view operation, std::string_view shapes);

// The whole numbers in a text such as "[0, 1]"; empty where it holds an ellipsis or anything else.
std::vector<std::int64_t> whole_numbers(std::string_view text);

}  // namespace ddpprof::import
