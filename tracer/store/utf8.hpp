// Makes recorded bytes fit for a database and for JSON.
#pragma once

#include <string>
#include <string_view>

namespace ddpprof::store {

// The text with every byte that is not part of well-formed UTF-8 (Unicode 15, table 3-7) replaced by U+FFFD, and NUL
// too, at which SQLite's tools would cut it off.
std::string to_valid_utf8(std::string_view bytes);

}  // namespace ddpprof::store
