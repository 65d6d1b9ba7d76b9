// Checks of combinations of values, after each value has been checked alone. Private to this folder.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

#include "runner/scenario/tree.hpp"

namespace ddpprof::scenario {

// Keys that already have a problem. Checks that need them are skipped, so that one mistake gives one message.
using BrokenKeys = std::set<std::string, std::less<>>;
inline bool none_of(const BrokenKeys& broken, std::initializer_list<std::string_view> keys) {
  return std::ranges::none_of(keys, [&](std::string_view key) { return broken.contains(key); });
}

void check_whole(const Scenario&, const BrokenKeys& broken, Tree&);
void check_learning_rate(const Scenario&, const BrokenKeys& broken, Tree&);  // the part of learning_rate

}  // namespace ddpprof::scenario
