// Text for terminals whose locale is not UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace ddpprof::report {

// Replaces characters that are not ASCII by ASCII characters of the same meaning: µ by u, × by x, √ by sqrt. Unknown
// ones become ?.
std::string ascii_text(std::string_view utf8);

}  // namespace ddpprof::report
