#include "runner/scenario/tensor_spec.hpp"

#include <charconv>
#include <stdexcept>

namespace ddpprof::scenario {
namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 31;  // of one sample

// Spaces between two digits are kept, because a comma is missing there.
std::string without_spaces(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t next = text.find_first_not_of(' ', i);
    if (text[i] != ' ' || (!out.empty() && digit(out.back()) && next != text.npos && digit(text[next]))) out += text[i];
  }
  return out;
}

bool take_number(std::string_view& text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 1) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

TensorSpec checked(const std::string& text) {
  std::string why;
  if (auto spec = parse_tensor_spec(text, why)) return *spec;
  throw std::invalid_argument("'" + text + "' is not a tensor type: " + why);
}

}  // namespace

std::int64_t TensorSpec::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

std::optional<TensorSpec> parse_tensor_spec(std::string_view text, std::string& why) {
  const std::string plain = without_spaces(text);
  std::string_view rest = plain;
  TensorSpec spec;
  if (take(rest, "float32")) {
    spec.type = TensorSpec::Type::float32;
  } else if (take(rest, "int64")) {
    spec.type = TensorSpec::Type::int64;
  } else {
    why = "expected it to begin with float32 or int64";
    return std::nullopt;
  }
  if (!take(rest, "[")) {
    why = "expected a shape in brackets after the type, [] for one number per sample";
    return std::nullopt;
  }
  std::int64_t elements = 1;
  while (!take(rest, "]")) {
    std::int64_t extent = 0;
    if ((!spec.shape.empty() && !take(rest, ",")) || !take_number(rest, extent)) {
      why = "expected whole numbers of 1 or more, separated by commas, then ]";
      return std::nullopt;
    }
    if (extent > most_elements / elements) {
      why = "a sample of more than 2147483648 elements";
      return std::nullopt;
    }
    elements *= extent;
    spec.shape.push_back(extent);
  }
  const bool whole = spec.type == TensorSpec::Type::int64;
  if (take(rest, "<")) {
    if (!whole) {
      why = "float32 does not take a '<' limit";
      return std::nullopt;
    }
    if (!take_number(rest, spec.below)) {
      why = "expected a whole number of 1 or more after '<'";
      return std::nullopt;
    }
  } else if (whole) {
    why = "int64 needs a limit: int64[...]<N for values from 0 to N - 1";
    return std::nullopt;
  }
  if (!rest.empty()) {
    why = "unexpected '" + std::string(rest) + "' at its end";
    return std::nullopt;
  }
  return spec;
}

std::vector<TensorSpec> input_specs(const Model& model) {
  using Type = TensorSpec::Type;
  switch (model.kind) {
    case Model::Kind::linear:
    case Model::Kind::mlp:
      return {{Type::float32, {model.widths.front()}, 0}};
    case Model::Kind::resnet18:
    case Model::Kind::resnet50:
      return {{Type::float32, {3, model.image_size, model.image_size}, 0}};
    case Model::Kind::gpt:
    case Model::Kind::bert:
      return {{Type::int64, {model.tokens()}, model.vocabulary_size()}};
    case Model::Kind::recommender:
      return {{Type::float32, {model.dense}, 0}, {Type::int64, {model.tables}, model.rows}};
    case Model::Kind::torchscript:
      break;
  }
  std::vector<TensorSpec> specs;
  for (const std::string& text : model.inputs) specs.push_back(checked(text));
  return specs;
}

TensorSpec target_spec(const Model& model, LossKind loss) {
  using Type = TensorSpec::Type;
  switch (model.kind) {
    case Model::Kind::gpt:
    case Model::Kind::bert:
      return {Type::int64, {model.tokens()}, model.vocabulary_size()};
    case Model::Kind::recommender:
      return {Type::float32, {}, 0};
    case Model::Kind::torchscript:
      return checked(model.target);
    default:
      break;
  }
  if (loss == LossKind::cross_entropy) return {Type::int64, {}, model.outputs()};
  return {Type::float32, {model.outputs()}, 0};
}

std::string to_string(const TensorSpec& spec) {
  std::string text = spec.type == TensorSpec::Type::int64 ? "int64[" : "float32[";
  for (std::size_t i = 0; i < spec.shape.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(spec.shape[i]);
  text += "]";
  return spec.type == TensorSpec::Type::int64 ? text + "<" + std::to_string(spec.below) : text;
}

}  // namespace ddpprof::scenario
