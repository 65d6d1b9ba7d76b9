#include "analysis/fit/nccl_tests/nccl_line.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace ddpprof::fit {
namespace {

constexpr std::string_view blanks = " \t\r";

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_whole_number(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

// Removes escape sequences (ECMA-48: ESC [ parameters, one final byte from @ to ~) and the byte-order mark. Of a line
// with carriage returns, keeps the text after the last one that is not at the end.
std::string plain(std::string_view line) {
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (const std::size_t at = line.rfind('\r'); at != std::string_view::npos) line.remove_prefix(at + 1);
  if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  std::string text;
  text.reserve(line.size());
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      text += line[i];
    } else if (i + 1 < line.size() && line[i + 1] == '[') {
      i += 2;
      while (i < line.size() && !(line[i] >= '@' && line[i] <= '~')) ++i;
    }
  }
  return text;
}

// Returns true for a date, a time, or both: "2026-03-01T10:00:00.123Z", "2026-03-01", "10:00:00,123".
bool is_timestamp(std::string_view word) {
  return word.find_first_not_of("0123456789-:.,TZ+") == std::string_view::npos && word.size() >= 8 &&
         (std::ranges::count(word, ':') >= 2 || std::ranges::count(word, '-') == 2);
}

// Removes the first prefix. Returns false if the line has none.
bool drop_prefix(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  if (text.empty() || text.front() == '#') return false;
  constexpr std::size_t longest_tag = 200;
  for (const std::string_view stream : {"<stdout>:", "<stderr>:", "<stdout>", "<stderr>"}) {
    if (const std::size_t at = text.substr(0, longest_tag).find(stream); at != std::string_view::npos) {
      text.remove_prefix(at + stream.size());
      return true;
    }
  }
  if (text.front() == '[') {
    const std::size_t end = text.substr(0, longest_tag).find(']');
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 1);
    if (text.starts_with(':')) text.remove_prefix(1);
    return true;
  }
  const std::string_view word = text.substr(0, text.find_first_of(blanks));
  if (const std::size_t at = word.find(":#"); at != std::string_view::npos) {
    text.remove_prefix(at + 1);
    return true;
  }
  if (word == ":" || !(is_timestamp(word) || has(word, ":"))) return false;
  text.remove_prefix(word.size());
  return true;
}

// Returns true if a heading of nccl-tests starts at this '#'.
bool is_heading(std::string_view text) {
  constexpr std::array<std::string_view, 8> first = {"nThread",    "Rank", "Using", "nccl-tests",
                                                     "Collective", "Out",  "Avg",   "size"};
  constexpr std::size_t farthest = 100;  // between the '#' and the first word
  text = text.substr(0, farthest);
  text.remove_prefix(std::min(text.find_first_not_of("# \t"), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(blanks));
  return std::ranges::find(first, word) != first.end();
}

// Returns where the heading starts, or npos.
std::size_t heading_at(std::string_view text) {
  for (std::size_t at = text.find('#'); at != std::string_view::npos; at = text.find('#', at + 1)) {
    const bool begins = at == 0 || has(" \t:>]|", text.substr(at - 1, 1));
    if (begins && is_heading(text.substr(at))) return at;
  }
  return std::string_view::npos;
}

// Returns where a row starts: the size, a count that divides it, and an element type. Returns npos if the line has
// none.
std::size_t row_at(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (!is_nccl_type(words[i]) || !is_whole_number(words[i - 1]) || !is_whole_number(words[i - 2])) continue;
    const auto size = number_of<std::int64_t>(words[i - 2]), count = number_of<std::int64_t>(words[i - 1]);
    if (!size || !count || (i > 2 && (*count == 0 || *size % *count != 0))) continue;
    return static_cast<std::size_t>(words[i - 2].data() - text.data());
  }
  return std::string_view::npos;
}

}  // namespace

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return words;
    const std::size_t end = std::min(text.find_first_of(blanks, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

bool is_nccl_type(std::string_view word) {
  constexpr std::array<std::string_view, 14> types = {"int8",     "uint8",    "int32",  "uint32", "int64",
                                                      "uint64",   "half",     "float",  "double", "bfloat16",
                                                      "fp8_e4m3", "fp8_e5m2", "f8e4m3", "f8e5m2"};
  return std::ranges::find(types, word) != types.end();
}

std::string nccl_content(std::string_view line) {
  const std::string text = plain(line);
  std::string_view rest = text;
  while (drop_prefix(rest)) {
  }
  if (rest.starts_with('#') && is_heading(rest)) return std::string(rest);
  if (const std::size_t at = heading_at(rest); at != std::string_view::npos) return std::string(rest.substr(at));
  if (const std::size_t at = row_at(rest); at != std::string_view::npos) return std::string(rest.substr(at));
  return std::string(rest);
}

bool is_nccl_line(std::string_view line) {
  const std::string content = nccl_content(line);
  if (row_at(content) == 0) return true;
  return has(content, "nThread") || has(content, "nccl-tests") || (has(content, "algbw") && has(content, "busbw")) ||
         (has(content, "size") && has(content, "count") && has(content, "type"));
}

}  // namespace ddpprof::fit
