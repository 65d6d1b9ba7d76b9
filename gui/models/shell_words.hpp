// Words of a command line, to be copied into a shell.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>

namespace ddpprof::gui {

// Quotes a word if a POSIX shell needs it.
inline std::string shell_word(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || (c != 0 && std::string("/.-_=,+").find(static_cast<char>(c)) != std::string::npos);
  });
  if (plain) return text;
  std::string safe = "'";
  for (const char c : text) safe += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return safe + "'";
}

}  // namespace ddpprof::gui
