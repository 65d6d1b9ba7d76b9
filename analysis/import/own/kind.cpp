// Which inputs of an import are exports of ours.
#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

#include "analysis/import/bytes/byte_source.hpp"
#include "analysis/import/own/restore.hpp"

namespace ddpprof::import {
namespace {

constexpr std::string_view spaces = " \t\r\n";

// `"ddpprof": {` as a member, whatever spaces stand between.
bool has_marker(std::string_view head) {
  constexpr std::string_view key = "\"ddpprof\"";
  for (std::size_t at = head.find(key); at != std::string_view::npos; at = head.find(key, at + 1)) {
    const std::size_t colon = head.find_first_not_of(spaces, at + key.size());
    if (colon == std::string_view::npos || head[colon] != ':') continue;
    const std::size_t value = head.find_first_not_of(spaces, colon + 1);
    const std::size_t before = head.find_last_not_of(spaces, at - 1);
    if (value != std::string_view::npos && head[value] == '{' && before != std::string_view::npos &&
        (head[before] == '{' || head[before] == ','))
      return true;
  }
  return false;
}

}  // namespace

OwnExport own_export_kind(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    const auto has = [&](const char* name) { return std::filesystem::is_regular_file(path / name, error); };
    return has("meta.csv") || (has("measurement.csv") && has("shard.csv")) ? OwnExport::csv : OwnExport::none;
  }
  if (!std::filesystem::is_regular_file(path, error)) return OwnExport::none;
  std::array<char, 4096> bytes{};
  std::size_t got = 0;
  try {
    got = open_bytes(path)->read(std::as_writable_bytes(std::span(bytes)));
  } catch (const OpenError&) {
    return OwnExport::none;  // whoever reads it says why it cannot be
  }
  const std::string_view head(bytes.data(), got);
  // The members before the first event only: an argument of an event may have any name.
  const std::string_view members = head.substr(0, head.find("\"traceEvents\""));
  const std::size_t first = members.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  return first != std::string_view::npos && members[first] == '{' && has_marker(members) ? OwnExport::chrome
                                                                                         : OwnExport::none;
}

}  // namespace ddpprof::import
