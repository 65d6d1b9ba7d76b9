// Words and numbers as a list in a sentence, and a text as a sentence.
#pragma once

#include <fmt/format.h>

#include <cctype>
#include <set>
#include <string>

namespace ddpprof::report {

// "a, b, c", in order.
template <class Item>
std::string joined(const std::set<Item>& items) {
  std::string text;
  for (const Item& item : items) text += fmt::format("{}{}", text.empty() ? "" : ", ", item);
  return text;
}

// Returns the text with a capital letter at its begin and a full stop at its end.
inline std::string as_sentence(std::string text) {
  if (text.empty()) return text;
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  if (text.back() != '.') text += '.';
  return text;
}

}  // namespace ddpprof::report
