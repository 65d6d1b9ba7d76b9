#include "analysis/import/tables/text_file.hpp"

#include <fstream>
#include <string>
#include <string_view>

namespace ddpprof::import {
namespace {

// nccl-tests' heading, or its column heads; both stand behind a launcher's tag, if there is one.
bool is_of_nccl_tests(std::string_view line) {
  const auto has = [line](std::string_view part) { return line.find(part) != std::string_view::npos; };
  return has("nThread") || has("nccl-tests") || (has("algbw") && has("busbw")) ||
         (has("size") && has("count") && has("type"));
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
    if (is_of_nccl_tests(line)) return TextKind::nccl_log;
    if (first && line.find("workers") != std::string_view::npos && line.find(',') != std::string_view::npos)
      return TextKind::step_table;
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  // A .csv that is none is told so by what reads tables.
  return path.extension() == ".csv" ? TextKind::step_table : TextKind::neither;
}

}  // namespace ddpprof::import
