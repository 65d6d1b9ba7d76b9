#include "analysis/import/load/inputs.hpp"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>

#include "analysis/import/load/read_rank.hpp"
#include "tracer/format/shard_format.hpp"

namespace ddpprof::import {
namespace {

namespace fs = std::filesystem;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Compares runs of digits as numbers: rank2 comes before rank10.
bool natural_less(const fs::path& left, const fs::path& right) {
  const std::string a = left.string(), b = right.string();
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const auto run = [](const std::string& text, std::size_t& at) {
        while (at + 1 < text.size() && text[at] == '0' && is_digit(text[at + 1])) ++at;
        const std::size_t begin = at;
        while (at < text.size() && is_digit(text[at])) ++at;
        return std::string_view(text).substr(begin, at - begin);
      };
      const std::string_view x = run(a, i), y = run(b, j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
    }
  }
  if (i == a.size() && j == b.size()) return a < b;
  return i == a.size();
}

bool looks_like_a_trace(const fs::path& path) {
  const std::string name = path.filename().string();
  for (const std::string_view end : {".json", ".json.gz", ".json.zst", ".sqlite", ".ddps"})
    if (name.ends_with(end)) return true;
  return false;
}

std::vector<fs::path> matching(const std::string& pattern) {
  glob_t found{};
  std::vector<fs::path> paths;
  if (glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  globfree(&found);
  std::sort(paths.begin(), paths.end(), natural_less);
  return paths;
}

}  // namespace

FileKind kind_of(const fs::path& path) {
  std::error_code error;
  // A pipe returns its first bytes only once, so it cannot be read here.
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) return FileKind::unreadable;
  std::ifstream file(path, std::ios::binary);
  if (!file) return FileKind::unreadable;
  std::array<char, 100> head{};
  file.read(head.data(), head.size());
  const std::string_view bytes(head.data(), static_cast<std::size_t>(file.gcount()));
  if (bytes.starts_with(std::string_view(trace::shard_magic, sizeof trace::shard_magic))) return FileKind::shard;
  if (bytes.starts_with("SQLite format 3")) {
    // The application id is the four bytes at 68 (SQLite's file format, section 1.3).
    return bytes.size() >= 72 && bytes.substr(68, 4) == "DDPF" ? FileKind::ours : FileKind::sqlite;
  }
  // zstd frames and skippable frames (RFC 8878, section 3.1.2).
  const bool skippable = bytes.size() >= 4 && bytes.substr(1, 3) == "\x2a\x4d\x18" && (bytes[0] & 0xf0) == 0x50;
  if (bytes.starts_with("\x1f\x8b") || bytes.starts_with("\x28\xb5\x2f\xfd") || skippable) return FileKind::json;
  const std::size_t first = bytes.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string_view::npos) return FileKind::json;  // empty: the reader reports it
  return bytes[first] == '{' || bytes[first] == '[' ? FileKind::json : FileKind::text;
}

bool is_shard_not_begun(const fs::path& path) {
  std::array<char, sizeof trace::shard_magic> head{};
  std::ifstream file(path, std::ios::binary);
  if (path.extension() != ".ddps" || !file) return false;
  file.read(head.data(), head.size());
  return std::all_of(head.begin(), head.end(), [](char byte) { return byte == 0; });
}

namespace {

std::vector<fs::path> traces_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->is_regular_file(error) && looks_like_a_trace(entry->path()) && !is_shard_not_begun(entry->path()))
      found.push_back(entry->path());
  return found;
}

}  // namespace

std::vector<fs::path> expand_inputs(const std::vector<std::string>& names) {
  std::vector<fs::path> files;
  std::set<fs::path> seen;
  const auto add = [&](const fs::path& file, const std::string& name) {
    std::error_code error;
    if (!seen.insert(fs::weakly_canonical(file, error)).second)
      throw ImportError(fmt::format("{} is given twice (expected each file once)", name));
    files.push_back(file);
  };
  for (const std::string& name : names) {
    std::error_code error;
    if (fs::is_directory(name, error)) {
      std::vector<fs::path> found = traces_in(name);
      if (found.empty())
        for (fs::directory_iterator entry(name, error), end; !error && entry != end; entry.increment(error))
          if (entry->is_directory(error))
            for (const fs::path& file : traces_in(entry->path())) found.push_back(file);
      if (found.empty())
        throw ImportError(fmt::format(
            "{}: no trace in this folder or in its folders (expected *.json, *.json.gz, *.json.zst or *.sqlite, "
            "or a folder that 'ddpprof worker' wrote)",
            name));
      std::sort(found.begin(), found.end(), natural_less);
      for (const fs::path& file : found) add(file, file.string());
    } else if (!fs::exists(name, error) && name.find_first_of("*?[") != std::string::npos) {
      const std::vector<fs::path> found = matching(name);
      if (found.empty()) throw ImportError(fmt::format("{}: no file matches (expected a pattern that matches)", name));
      for (const fs::path& file : found) add(file, file.string());
    } else {
      add(name, name);
    }
  }
  return files;
}

}  // namespace ddpprof::import
