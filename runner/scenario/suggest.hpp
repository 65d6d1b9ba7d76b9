// "Did you mean": finds the nearest known name for a misspelled one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ddpprof::scenario {

// Returns the Damerau-Levenshtein distance (optimal string alignment). Insertions, deletions, substitutions and swaps
// of neighbours cost 1 each. Letter case, and '-' for '_', cost nothing.
int edit_distance(std::string_view a, std::string_view b);

// Returns the nearest candidate within a third of the word's length (at least 1 edit); of equal distances the first; ""
// if no candidate is near enough.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

// "a, b, c"
std::string join(std::span<const std::string_view> names);

}  // namespace ddpprof::scenario
