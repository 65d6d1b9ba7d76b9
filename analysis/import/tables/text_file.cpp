#include "analysis/import/tables/text_file.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace ddpprof::import {
namespace {

// Returns true for a heading or column heads of nccl-tests, also behind a launcher's tag.
bool is_of_nccl_tests(std::string_view line) {
  const auto has = [line](std::string_view part) { return line.find(part) != std::string_view::npos; };
  return has("nThread") || has("nccl-tests") || (has("algbw") && has("busbw")) ||
         (has("size") && has("count") && has("type"));
}

// Returns true for a line of results without a heading: "33554432 8388608 float sum 19902 1.69 2.53 …".
bool is_size_line(std::string_view line) {
  std::string_view words[3];
  int found = 0;
  while (found < 3) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.empty()) return false;
    const std::size_t end = std::min(line.find_first_of(" \t\r"), line.size());
    words[found] = line.substr(0, end);
    if (found > 0 || !words[0].ends_with(':')) ++found;  // a launcher's tag is not one of the words
    line.remove_prefix(end);
  }
  const auto digits = [](std::string_view word) {
    return word.find_first_not_of("0123456789") == std::string_view::npos;
  };
  constexpr std::string_view types[] = {"int8",  "uint8",  "int32",    "uint32",   "int64",    "uint64", "half",
                                        "float", "double", "bfloat16", "fp8_e4m3", "fp8_e5m2", "f8e4m3", "f8e5m2"};
  return digits(words[0]) && digits(words[1]) && std::ranges::find(types, words[2]) != std::end(types);
}

}  // namespace

TextKind text_kind(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::size_t{64} << 10, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.find('\0') != std::string::npos) return TextKind::neither;
  std::string_view rest = text;
  if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);
  for (bool first = true; !rest.empty(); first = false) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    if (is_of_nccl_tests(line) || is_size_line(line)) return TextKind::nccl_log;
    if (first && line.find("workers") != std::string_view::npos && line.find(',') != std::string_view::npos)
      return TextKind::step_table;
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  // A .csv file that is not a table is rejected by the table reader.
  return path.extension() == ".csv" ? TextKind::step_table : TextKind::neither;
}

}  // namespace ddpprof::import
