// The style sheet of the page: light, dark and printed.
#pragma once

#include <string_view>

namespace ddpprof::report::html {

std::string_view style();

}  // namespace ddpprof::report::html
