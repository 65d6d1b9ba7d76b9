// The part of an event's name that distinguishes it, for labels with little room. Tooltips have the whole name.
#pragma once

#include <string_view>

namespace ddpprof::gui {

// Without a leading "void " (of templates of kernels) and "aten::" (PyTorch's operations). Never empty for a name that
// is not empty.
inline std::string_view short_name(std::string_view name) {
  for (const std::string_view prefix : {std::string_view("void "), std::string_view("aten::")})
    if (name.size() > prefix.size() && name.starts_with(prefix)) name.remove_prefix(prefix.size());
  return name;
}

}  // namespace ddpprof::gui
