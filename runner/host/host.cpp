#include "runner/host/host.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>

namespace ddpprof::host {
namespace {

constexpr std::size_t largest_text = 1 << 20;

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

}  // namespace

std::filesystem::path Host::at(const std::string& path) const {
  return root_ / path.substr(std::min(path.find_first_not_of('/'), path.size()));
}

Reading<std::string> Host::text(const std::string& path) const {
  errno = 0;
  std::ifstream file(at(path), std::ios::binary);
  if (!file) return Reading<std::string>::unknown(path + ": " + std::strerror(errno != 0 ? errno : ENOENT));
  std::string text;
  char part[4096];
  while (text.size() < largest_text && (file.read(part, sizeof part), file.gcount() > 0))
    text.append(part, static_cast<std::size_t>(file.gcount()));
  // A read that fails at once is not an empty file (example: the speed of a link that is down, EINVAL).
  if (file.bad() || (text.empty() && errno != 0)) {
    return Reading<std::string>::unknown(path + ": " + std::strerror(errno != 0 ? errno : EIO));
  }
  return Reading<std::string>::of(std::move(text));
}

Reading<std::string> Host::line(const std::string& path) const {
  Reading<std::string> whole = text(path);
  if (!whole) return whole;
  return Reading<std::string>::of(trimmed(whole->substr(0, whole->find('\n'))));
}

Reading<std::int64_t> Host::number(const std::string& path) const {
  const Reading<std::string> found = line(path);
  if (!found) return Reading<std::int64_t>::unknown(found.why);
  const auto value = leading_number(*found);
  if (!value) return Reading<std::int64_t>::unknown(path + ": expected a number, found '" + *found + "'");
  return Reading<std::int64_t>::of(*value);
}

std::vector<std::string> Host::names(const std::string& folder) const {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(at(folder), error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  std::istringstream parts(trimmed(text));
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t dash = part.find('-');
    const auto first = leading_number(part);
    const auto last = dash == std::string::npos ? first : leading_number(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > 1 << 20) return {};
    for (std::int64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

std::optional<std::string> field(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, name.size(), name) != 0) continue;
    const std::size_t colon = line.find_first_not_of(" \t", name.size());
    if (colon != std::string::npos && line[colon] == ':') return trimmed(line.substr(colon + 1));
  }
  return std::nullopt;
}

std::optional<std::int64_t> leading_number(const std::string& text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::vector<CgroupFolder> cgroup_folders(const Host& host, const std::string& controller) {
  std::vector<CgroupFolder> folders;
  const Reading<std::string> groups = host.text("/proc/self/cgroup");
  if (!groups) return folders;
  std::istringstream lines(*groups);
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool unified = controllers == ",,";
    if (!unified && controllers.find("," + controller + ",") == std::string::npos) continue;
    const std::vector<std::string> mounts = unified
                                                ? std::vector<std::string>{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}
                                                : std::vector<std::string>{"/sys/fs/cgroup/" + controller};
    for (const std::string& mount : mounts) {
      for (std::filesystem::path group = line.substr(second + 1);; group = group.parent_path()) {
        folders.push_back({mount + (group == "/" ? "" : group.string()), unified});
        if (!group.has_relative_path()) break;
      }
    }
  }
  return folders;
}

}  // namespace ddpprof::host
