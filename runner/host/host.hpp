// Reads what the kernel says about a machine, below a root folder, so that recorded /proc and /sys texts read the same.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ddpprof::host {

// A fact, or why it is not known. Nothing is ever guessed in its place.
template <class T>
struct Reading {
  std::optional<T> value = {};
  std::string why = {};  // not readable, when there is no value

  static Reading of(T found) { return {std::optional<T>(std::move(found)), {}}; }
  static Reading unknown(std::string reason) { return {std::nullopt, std::move(reason)}; }
  explicit operator bool() const { return value.has_value(); }
  const T& operator*() const { return *value; }
  const T* operator->() const { return &*value; }
};

class Host {
 public:
  explicit Host(std::filesystem::path root = "/") : root_(std::move(root)) {}

  // The first MiB of a file, given by its absolute path on the machine. `why` names the path and the error.
  Reading<std::string> text(const std::string& path) const;
  Reading<std::string> line(const std::string& path) const;  // the first line, without white space around it
  Reading<std::int64_t> number(const std::string& path) const;
  std::vector<std::string> names(const std::string& folder) const;  // sorted; empty when it cannot be listed
  std::filesystem::path at(const std::string& path) const;

 private:
  std::filesystem::path root_;
};

// "0-3,8" → {0, 1, 2, 3, 8}; empty when the text is no such list.
std::vector<int> parse_cpu_list(const std::string& text);

// The value behind "NAME:" or "NAME\t:" at a line's beginning, without white space around it.
std::optional<std::string> field(const std::string& text, const std::string& name);

// A whole number at the beginning of `text`, after white space.
std::optional<std::int64_t> leading_number(const std::string& text);

// This process's groups in /proc/self/cgroup that a controller's files lie in, the process's own group first and then
// its parents up to the mount: a parent's limit binds too. In a container the path may be the host's, where only the
// mount's root exists. v1: the controller's hierarchy; v2: the unified one.
struct CgroupFolder {
  std::string path;
  bool unified = false;
};
std::vector<CgroupFolder> cgroup_folders(const Host& host, const std::string& controller);

}  // namespace ddpprof::host
