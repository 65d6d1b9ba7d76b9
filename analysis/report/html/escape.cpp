#include "analysis/report/html/escape.hpp"

#include <nlohmann/json.hpp>

namespace ddpprof::report::html {
namespace {

constexpr const char* replacement = "\xEF\xBF\xBD";  // U+FFFD

bool plain_ascii(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  return true;
}

// Each ill-formed sequence becomes U+FFFD, as in the JSON format.
std::string as_utf8(std::string_view text) {
  if (plain_ascii(text)) return std::string(text);
  const nlohmann::json value = text;
  return nlohmann::json::parse(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)).get<std::string>();
}

// U+FFFE and U+FFFF: well-formed UTF-8 that XML 1.0 (section 2.2, Char) forbids.
bool noncharacter_at(const std::string& utf8, std::size_t i) {
  return i + 2 < utf8.size() && utf8[i] == '\xEF' && utf8[i + 1] == '\xBF' &&
         (utf8[i + 2] == '\xBE' || utf8[i + 2] == '\xBF');
}

}  // namespace

std::string escaped(std::string_view text) {
  const std::string utf8 = as_utf8(text);
  std::string out;
  out.reserve(utf8.size());
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const char c = utf8[i];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else if ((byte < 0x20 && c != '\t' && c != '\n') || byte == 0x7f) {
      out += replacement;
    } else if (noncharacter_at(utf8, i)) {
      out += replacement;
      i += 2;
    } else {
      out += c;
    }
  }
  return out;
}

std::string identifier(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    out += kept ? c : '-';
  }
  return out.empty() ? "part" : out;
}

}  // namespace ddpprof::report::html
