#include "runner/scenario/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <string>
#include <utility>

#include "runner/scenario/suggest.hpp"

namespace ddpprof::scenario {
namespace {

bool quoted(const YAML::Node& node) { return node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str"; }

// Returns the choice for a common synonym, otherwise the choice with the nearest spelling. A synonym is needed where
// the nearest spelling is wrong: "gpu" differs from "cpu" by one letter.
std::string_view meant(std::string_view word, std::span<const std::string_view> choices) {
  static constexpr std::pair<std::string_view, std::string_view> synonyms[] = {{"gpu", "cuda"},
                                                                               {"float32", "fp32"},
                                                                               {"float", "fp32"},
                                                                               {"automatic", "auto"},
                                                                               {"bfloat16", "bf16"},
                                                                               {"jit", "torchscript"},
                                                                               {"gpt2", "gpt"},
                                                                               {"bce_with_logits", "bce"},
                                                                               {"dlrm", "recommender"},
                                                                               {"dataparallel", "dp"},
                                                                               {"distributeddataparallel", "ddp"},
                                                                               {"shared", "machine"},
                                                                               {"resnet", "resnet18"}};
  for (const auto& [from, to] : synonyms) {
    if (edit_distance(word, from) == 0 && std::ranges::find(choices, to) != choices.end()) return to;
  }
  return nearest(word, choices);
}

// Long values are cut so that a message stays one readable line.
std::string shortened(const std::string& text) {
  constexpr std::size_t longest = 60;
  std::string line;
  for (const char c : text.substr(0, longest)) line += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  // Do not cut inside a UTF-8 sequence.
  if (text.size() > longest) {
    while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xC0) == 0x80) line.pop_back();
    if (!line.empty() && (static_cast<unsigned char>(line.back()) & 0x80) != 0) line.pop_back();
    line += "…";
  }
  return line;
}

enum class Numeric { none, integer, real, special };

// Accepts decimal numbers only, not YAML's 0x1F and 0o17.
Numeric numeric(std::string_view text) {
  static constexpr std::string_view specials[] = {".nan", ".inf", "nan", "inf", "infinity"};
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (std::ranges::find(specials, lower) != std::end(specials)) return Numeric::special;
  std::size_t i = 0;
  std::size_t digits = 0;
  const auto take_digits = [&] {
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i, ++digits;
  };
  take_digits();
  if (i == text.size()) return digits > 0 ? Numeric::integer : Numeric::none;
  if (text[i] == '.') ++i, take_digits();
  if (digits == 0) return Numeric::none;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    digits = 0;
    take_digits();
    if (digits == 0) return Numeric::none;
  }
  return i == text.size() ? Numeric::real : Numeric::none;
}

void complain(const KeySpec& spec, const YAML::Node& node, std::vector<Complaint>& complaints, std::string found,
              const std::string& hint = "") {
  complaints.push_back({node.Mark(), fmt::format("expected {}; found {}{}", allowed_text(spec), found, hint)});
}

bool within(const Limits& limits, double value) {
  if (limits.above_least ? !(value > limits.least) : !(value >= limits.least)) return false;
  return limits.below_most ? value < limits.most : value <= limits.most;
}

// Returns the text of a number without a leading '+', which from_chars does not accept.
std::string_view number_text(const YAML::Node& node) {
  std::string_view text = node.Scalar();
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  return text;
}

}  // namespace

std::string describe(const YAML::Node& node) {
  if (node.IsSequence()) return "a list";
  if (node.IsMap()) return "a map";
  if (!node.IsScalar()) return "nothing";
  std::string text = shortened(node.Scalar());
  if (quoted(node)) return fmt::format("text \"{}\"", text);
  if (numeric(node.Scalar()) != Numeric::none || text == "true" || text == "false") return text;
  return fmt::format("'{}'", text);
}

std::optional<std::int64_t> parse_integer(const KeySpec& spec, const YAML::Node& node,
                                          std::vector<Complaint>& complaints) {
  if (!node.IsScalar() || quoted(node) || numeric(node.Scalar()) != Numeric::integer) {
    const bool real = node.IsScalar() && !quoted(node) && numeric(node.Scalar()) == Numeric::real;
    const bool number_in_quotes = node.IsScalar() && quoted(node) && numeric(node.Scalar()) == Numeric::integer;
    complain(spec, node, complaints, describe(node),
             real ? " (write whole numbers in digits, without point or exponent)"
                  : (number_in_quotes ? " (remove the quotes)" : ""));
    return std::nullopt;
  }
  const std::string_view text = number_text(node);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    complain(spec, node, complaints, describe(node) + ", which does not fit into 64 bits");
    return std::nullopt;
  }
  if (!within(spec.limits, static_cast<double>(value))) {
    complain(spec, node, complaints, describe(node));
    return std::nullopt;
  }
  return value;
}

std::optional<double> parse_number(const KeySpec& spec, const YAML::Node& node, std::vector<Complaint>& complaints) {
  const Numeric kind = node.IsScalar() && !quoted(node) ? numeric(node.Scalar()) : Numeric::none;
  if (kind == Numeric::none || kind == Numeric::special) {
    const bool number_in_quotes = node.IsScalar() && quoted(node) && numeric(node.Scalar()) != Numeric::none;
    const bool percent = node.IsScalar() && !node.Scalar().empty() && node.Scalar().back() == '%';
    complain(spec, node, complaints, describe(node) + (kind == Numeric::special ? ", which is not finite" : ""),
             number_in_quotes ? " (remove the quotes)" : (percent ? " (leave out the % sign)" : ""));
    return std::nullopt;
  }
  const std::string_view text = number_text(node);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    complain(spec, node, complaints, describe(node) + ", which is too large or too small for a 64-bit float");
    return std::nullopt;
  }
  if (!within(spec.limits, value)) {
    complain(spec, node, complaints, describe(node));
    return std::nullopt;
  }
  return value == 0 ? 0.0 : value;  // no negative zero
}

std::optional<bool> parse_boolean(const KeySpec& spec, const YAML::Node& node, std::vector<Complaint>& complaints) {
  if (node.IsScalar() && !quoted(node)) {
    const std::string& text = node.Scalar();
    if (text == "true" || text == "True" || text == "TRUE") return true;
    if (text == "false" || text == "False" || text == "FALSE") return false;
  }
  static constexpr std::string_view truths[] = {"yes", "on", "1", "true"};
  static constexpr std::string_view lies[] = {"no", "off", "0", "false"};
  std::string hint;
  if (node.IsScalar()) {
    if (!nearest(node.Scalar(), truths).empty()) hint = "; did you mean true?";
    if (!nearest(node.Scalar(), lies).empty()) hint = "; did you mean false?";
    // Short words have similar spellings: an exact match has priority.
    if (std::ranges::find(truths, node.Scalar()) != std::end(truths)) hint = "; did you mean true?";
    if (std::ranges::find(lies, node.Scalar()) != std::end(lies)) hint = "; did you mean false?";
  }
  complain(spec, node, complaints, describe(node), hint);
  return std::nullopt;
}

std::optional<std::string> parse_text(const KeySpec& spec, const YAML::Node& node, std::vector<Complaint>& complaints) {
  if (node.IsScalar()) {
    const bool control = std::ranges::any_of(node.Scalar(), [&](char c) {
      return static_cast<unsigned char>(c) < 0x20 && !(spec.multiline && (c == '\n' || c == '\t'));
    });
    if (!control) return node.Scalar();
    complain(spec, node, complaints,
             describe(node) + (spec.multiline ? " with a control character" : " with a line break or control character"));
    return std::nullopt;
  }
  complain(spec, node, complaints, describe(node),
           node.IsNull()  ? " (write \"\" for empty text)"
           : node.IsMap() ? " (write text that begins with a brace in quotes: \"{workers}\")"
                          : "");
  return std::nullopt;
}

std::optional<std::size_t> parse_choice(const KeySpec& spec, const YAML::Node& node,
                                        std::vector<Complaint>& complaints) {
  std::string hint;
  if (node.IsScalar()) {
    const auto found = std::ranges::find(spec.choices, node.Scalar());
    if (found != spec.choices.end()) return static_cast<std::size_t>(found - spec.choices.begin());
    const std::string_view near = meant(node.Scalar(), spec.choices);
    if (!near.empty()) hint = fmt::format("; did you mean '{}'?", near);
  }
  complain(spec, node, complaints, describe(node), hint);
  return std::nullopt;
}

namespace {

// Returns the spec of one entry of a list, for messages about a single entry.
KeySpec entry_spec(const KeySpec& list) {
  KeySpec entry = list;
  entry.type = list.type == KeyType::integer_list  ? KeyType::integer
               : list.type == KeyType::number_list ? KeyType::number
               : list.type == KeyType::text_list   ? KeyType::text
                                                   : KeyType::choice;
  return entry;
}

// A command as one text: its words as a list, as far as spaces separate them.
std::string words_in_quotes(const std::string& text) {
  std::istringstream words(text);
  std::string list;
  for (std::string word; words >> word;) list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", shortened(word));
  return list;
}

bool check_list(const KeySpec& spec, const YAML::Node& node, std::vector<Complaint>& complaints) {
  if (!node.IsSequence()) {
    std::string hint;
    if (node.IsScalar() && spec.type == KeyType::text_list)
      hint = fmt::format("; write [{}]", spec.multiline ? words_in_quotes(node.Scalar())
                                                        : fmt::format("\"{}\"", shortened(node.Scalar())));
    else if (node.IsScalar())
      hint = fmt::format("; write [{}]", shortened(node.Scalar()));
    complain(spec, node, complaints, describe(node), hint);
    return false;
  }
  if (node.size() < spec.limits.entries) {
    complain(spec, node, complaints, node.size() == 0 ? "an empty list" : fmt::format("{} of them", node.size()));
    return false;
  }
  return true;
}

}  // namespace

namespace {

template <typename Number, typename Parse>
std::optional<std::vector<Number>> parse_list(const KeySpec& spec, const YAML::Node& node,
                                              std::vector<Complaint>& complaints, Parse&& parse) {
  if (!check_list(spec, node, complaints)) return std::nullopt;
  const std::size_t before = complaints.size();
  const KeySpec entry = entry_spec(spec);
  std::vector<Number> list;
  for (const YAML::Node& item : node) {
    const auto value = parse(entry, item, complaints);
    if (!value) continue;
    if (spec.limits.ascending && !list.empty() && *value <= list.back()) {
      const std::string wrong = std::ranges::find(list, *value) != list.end() ? "appears twice" : "is out of order";
      complaints.push_back(
          {item.Mark(), fmt::format("{} {}; expected each entry larger than the one before", *value, wrong)});
      continue;
    }
    list.push_back(*value);
  }
  if (complaints.size() != before) return std::nullopt;
  return list;
}

}  // namespace

std::optional<std::vector<std::int64_t>> parse_integers(const KeySpec& spec, const YAML::Node& node,
                                                        std::vector<Complaint>& complaints) {
  return parse_list<std::int64_t>(spec, node, complaints, parse_integer);
}

std::optional<std::vector<double>> parse_numbers(const KeySpec& spec, const YAML::Node& node,
                                                 std::vector<Complaint>& complaints) {
  return parse_list<double>(spec, node, complaints, parse_number);
}

std::optional<std::vector<std::string>> parse_texts(const KeySpec& spec, const YAML::Node& node,
                                                    std::vector<Complaint>& complaints) {
  if (!check_list(spec, node, complaints)) return std::nullopt;
  const std::size_t before = complaints.size();
  const KeySpec entry = entry_spec(spec);
  std::vector<std::string> list;
  for (const YAML::Node& item : node) {
    if (auto value = parse_text(entry, item, complaints)) list.push_back(std::move(*value));
  }
  if (complaints.size() != before) return std::nullopt;
  return list;
}

std::optional<std::vector<std::size_t>> parse_choices(const KeySpec& spec, const YAML::Node& node,
                                                      std::vector<Complaint>& complaints) {
  if (!check_list(spec, node, complaints)) return std::nullopt;
  const std::size_t before = complaints.size();
  const KeySpec entry = entry_spec(spec);
  std::vector<std::size_t> list;
  for (const YAML::Node& item : node) {
    const auto value = parse_choice(entry, item, complaints);
    if (!value) continue;
    if (std::ranges::find(list, *value) != list.end()) {
      complaints.push_back({item.Mark(), fmt::format("'{}' appears twice; expected each entry once", item.Scalar())});
      continue;
    }
    list.push_back(*value);
  }
  if (complaints.size() != before) return std::nullopt;
  return list;
}

std::string emit_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string emit_number(double value) { return fmt::format("{}", value); }

}  // namespace ddpprof::scenario
