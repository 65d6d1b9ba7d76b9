// Escapes any text for an HTML page.
#pragma once

#include <string>
#include <string_view>

namespace ddpprof::report::html {

// The result is safe between tags and inside double quotes, in HTML and XML. Bytes that are not UTF-8 and characters
// that XML 1.0 forbids become U+FFFD. Tabs and line ends are kept.
std::string escaped(std::string_view text);

// Returns the letters, digits, '-' and '_' of the text, for an id. Never empty.
std::string identifier(std::string_view text);

}  // namespace ddpprof::report::html
