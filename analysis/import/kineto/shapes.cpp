#include "analysis/import/kineto/shapes.hpp"

#include <charconv>

#include "analysis/import/trace/checked.hpp"
#include "analysis/import/trace/rank_trace.hpp"

namespace ddpprof::import {
namespace {

// Returns the innermost list that begins first at or after `at`; sets `at` behind it.
std::optional<std::string_view> innermost(std::string_view text, std::size_t& at) {
  const std::size_t close = text.find(']', at);
  if (close == std::string_view::npos) return std::nullopt;
  const std::size_t open = text.rfind('[', close);
  if (open == std::string_view::npos || open < at) return std::nullopt;
  at = close + 1;
  return text.substr(open, close + 1 - open);
}

// Returns the shape at `place` of a list of lists, for example "[64, 784]"; none if that place does not hold a shape.
std::optional<std::string_view> shape_at(std::string_view shapes, int place) {
  if (shapes.size() < 2 || shapes.front() != '[') return std::nullopt;
  std::size_t at = 1;
  int seen = 0;
  while (at < shapes.size()) {
    if (shapes[at] == '[') {
      int depth = 0;
      const std::size_t begin = at;
      for (; at < shapes.size(); ++at) {
        if (shapes[at] == '[') ++depth;
        if (shapes[at] == ']' && --depth == 0) break;
      }
      if (at == shapes.size()) return std::nullopt;
      ++at;
      if (seen == place) return shapes.substr(begin, at - begin);
      ++seen;
    } else {
      ++at;
    }
  }
  return std::nullopt;
}

// Returns the quoted text at `place` of a list of texts; none if the list is shorter.
std::optional<std::string_view> text_at(std::string_view list, int place) {
  std::size_t open = std::string_view::npos, close = std::string_view::npos;
  for (int i = 0; i <= place; ++i) {
    open = list.find('"', i == 0 ? 0 : close + 1);
    close = open == std::string_view::npos ? open : list.find('"', open + 1);
    if (close == std::string_view::npos) return std::nullopt;
  }
  return list.substr(open + 1, close - open - 1);
}

}  // namespace

std::vector<std::int64_t> whole_numbers(std::string_view text) {
  std::vector<std::int64_t> numbers;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '[' || c == ']' || c == ',' || c == '"' || c == ' ' || c == '\n' || c == '\r' || c == '\t') {
      ++at;
      continue;
    }
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (error != std::errc{}) return {};
    numbers.push_back(number);
    at = static_cast<std::size_t>(end - text.data());
  }
  return numbers;
}

std::string list_text(const std::vector<std::int64_t>& numbers) {
  std::string text = "[";
  for (const std::int64_t number : numbers) text += (text.size() > 1 ? ", " : "") + std::to_string(number);
  return text + "]";
}

std::optional<TensorInput> input_at(std::string_view shapes, std::string_view types, int place) {
  if (shapes.empty()) return std::nullopt;
  const std::optional<std::string_view> type = text_at(types, place);
  const std::optional<std::string_view> tensors = shape_at(shapes, place);
  if (!tensors || (type && type->empty() && *tensors == "[]")) return std::nullopt;  // not a tensor
  std::size_t at = 0;
  const std::optional<std::string_view> shape = innermost(*tensors, at);
  if (!shape) return std::nullopt;
  // A list of tensors counts as one message: the sum of its tensors.
  TensorInput input;
  input.shape = list_text(whole_numbers(*shape));
  std::optional<std::string_view> member = shape;
  while (member) {
    std::int64_t product = 1;
    for (const std::int64_t extent : whole_numbers(*member))
      if (extent < 0 || __builtin_mul_overflow(product, extent, &product)) return std::nullopt;
    if (__builtin_add_overflow(input.elements, product, &input.elements)) return std::nullopt;
    member = innermost(*tensors, at);
  }
  if (type) {
    input.element_bytes = element_bytes(*type);
    input.integral = is_integral(*type);
  }
  return input;
}

std::optional<TensorInput> first_input(std::string_view shapes, std::string_view types) {
  return input_at(shapes, types, 0);
}

std::optional<TensorInput> all_inputs(std::string_view shapes, std::string_view types) {
  constexpr int most = 4096;
  std::optional<TensorInput> all = first_input(shapes, types);
  for (int place = 1; all && place < most; ++place) {
    const std::optional<TensorInput> next = input_at(shapes, types, place);
    if (!next) break;
    if (__builtin_add_overflow(all->elements, next->elements, &all->elements)) return std::nullopt;
  }
  return all;
}

std::optional<std::int64_t> batch_of(std::string_view operation, std::string_view shapes) {
  int place = -1;
  for (const std::string_view name :
       {"aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::convolution", "aten::linear", "aten::addmm"})
    if (operation == name) place = operation == "aten::addmm" ? 1 : 0;
  if (operation == "aten::embedding") place = 1;
  if (place < 0) return std::nullopt;
  const std::optional<std::string_view> shape = shape_at(shapes, place);
  if (!shape) return std::nullopt;
  const std::vector<std::int64_t> extents = whole_numbers(*shape);
  if (extents.empty() || extents.front() < 1 || extents.front() > most_samples) return std::nullopt;
  // The positions [1, 512] of all samples. If the batch is 1, later layers show it.
  if (operation == "aten::embedding" && extents.size() > 1 && extents.front() == 1) return std::nullopt;
  return extents.front();
}

}  // namespace ddpprof::import
