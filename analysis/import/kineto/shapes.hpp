// Parses an operation's recorded input shapes and types: `[[64, 784], [1024, 784]]` and `["float", "float"]`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpprof::import {

struct TensorInput {
  std::int64_t elements = 0;
  std::int32_t element_bytes = 0;  // 0: unknown type
  bool integral = false;
  std::string shape;  // "[64, 784]"
};

// Returns the operation's first input, or its input at index `place`: a tensor, or a list of tensors with their sum.
// None if it is another value. The shape of a list is that of its first tensor.
std::optional<TensorInput> first_input(std::string_view shapes, std::string_view types);
std::optional<TensorInput> input_at(std::string_view shapes, std::string_view types, int place);

// Returns the first input with the elements of all inputs up to the first one that is not a tensor; none without one.
std::optional<TensorInput> all_inputs(std::string_view shapes, std::string_view types);

// Returns the leading dimension of the operation's input if the batch is the leading dimension: for convolutions,
// linear layers and embeddings. None for other operations.
std::optional<std::int64_t> batch_of(std::string_view operation, std::string_view shapes);

// Returns the whole numbers in a text such as "[0, 1]", with any white space; empty if it holds an ellipsis or anything
// else.
std::vector<std::int64_t> whole_numbers(std::string_view text);

// Returns "[64, 784]": the same text however the file is indented.
std::string list_text(const std::vector<std::int64_t>& numbers);

}  // namespace ddpprof::import
