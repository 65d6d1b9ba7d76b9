// "Did you mean": the nearest known name to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ddpprof::scenario {

// Damerau-Levenshtein distance (optimal string alignment): insertions, deletions, substitutions and swaps of
// neighbours cost 1 each; letter case and '-' against '_' cost nothing.
int edit_distance(std::string_view a, std::string_view b);

// The candidate within a third of the word's length (at least 1 edit), the first of the nearest; "" when none is.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

// "a, b, c"
std::string join(std::span<const std::string_view> names);

}  // namespace ddpprof::scenario
