// Text of any origin as text of an HTML page.
#pragma once

#include <string>
#include <string_view>

namespace ddpprof::report::html {

// Safe between tags and inside of double quotes, in HTML and in XML alike. Bytes that are not UTF-8 and characters that
// XML 1.0 does not allow become U+FFFD; tabs and line ends stay.
std::string escaped(std::string_view text);

// Letters, digits, '-' and '_' of it, for an id; never empty.
std::string identifier(std::string_view text);

}  // namespace ddpprof::report::html
