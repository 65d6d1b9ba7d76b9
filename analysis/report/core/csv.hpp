// One CSV field after RFC 4180, shared by reports and the CSV export.
#pragma once

#include <string>
#include <string_view>

namespace ddpprof::report {

// Quotes the field if it contains a comma, a quote or a line break, or starts or ends with a space. Quotes are doubled.
inline std::string csv_field(std::string_view text) {
  const bool plain = text.find_first_of(",\"\r\n") == std::string_view::npos &&
                     (text.empty() || (text.front() != ' ' && text.back() != ' '));
  if (plain) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace ddpprof::report
