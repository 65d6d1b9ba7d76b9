// Converts recorded bytes to text for the database and for JSON.
#pragma once

#include <string>
#include <string_view>

namespace ddpprof::store {

// Replaces every byte that is not part of well-formed UTF-8 (Unicode 15, table 3-7) by U+FFFD. Also replaces NUL, at
// which SQLite's tools would cut the text.
std::string to_valid_utf8(std::string_view bytes);

}  // namespace ddpprof::store
