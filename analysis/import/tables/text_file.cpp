#include "analysis/import/tables/text_file.hpp"

#include <fstream>
#include <string>
#include <string_view>

#include "analysis/fit/nccl_tests/nccl_json.hpp"
#include "analysis/fit/nccl_tests/nccl_line.hpp"

namespace ddpprof::import {
namespace {

// Returns true for the first line of a table of step times, also if its columns are separated by another character:
// the table reader then reports this.
bool is_table_heading(std::string_view line) {
  return (line.find("workers") != std::string_view::npos || line.starts_with("sep=")) &&
         line.find_first_of(",;\t|") != std::string_view::npos;
}

}  // namespace

TextKind text_kind(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::size_t{1} << 20, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.find('\0') != std::string::npos) return TextKind::neither;
  std::string_view rest = text;
  if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);
  if (const std::size_t first = rest.find_first_not_of(" \t\r\n");
      first != std::string_view::npos && rest[first] == '{')
    return fit::looks_like_nccl_json(rest) ? TextKind::nccl_log : TextKind::neither;
  for (bool first = true; !rest.empty(); first = false) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    if (fit::is_nccl_line(line)) return TextKind::nccl_log;
    if (first && is_table_heading(line)) return TextKind::step_table;
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  // A .csv file that is not a table is rejected by the table reader.
  return path.extension() == ".csv" ? TextKind::step_table : TextKind::neither;
}

}  // namespace ddpprof::import
