// Words and numbers as a list in a sentence.
#pragma once

#include <fmt/format.h>

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

}  // namespace ddpprof::report
