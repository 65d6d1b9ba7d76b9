// Reads the kernel's files about a machine below a root folder, so that recorded /proc and /sys files work the same
// way.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ddpprof::host {

// A fact, or the reason why it is unknown. It is never guessed.
template <class T>
struct Reading {
  std::optional<T> value = {};
  std::string why = {};  // the reason why `value` is empty

  static Reading of(T found) { return {std::optional<T>(std::move(found)), {}}; }
  static Reading unknown(std::string reason) { return {std::nullopt, std::move(reason)}; }
  explicit operator bool() const { return value.has_value(); }
  const T& operator*() const { return *value; }
  const T* operator->() const { return &*value; }
};

class Host {
 public:
  explicit Host(std::filesystem::path root = "/") : root_(std::move(root)) {}

  // Returns the first MiB of a file. The path is absolute on the machine. `why` names the path and the error.
  Reading<std::string> text(const std::string& path) const;
  Reading<std::string> line(const std::string& path) const;  // the first line, without surrounding white space
  Reading<std::int64_t> number(const std::string& path) const;
  std::vector<std::string> names(const std::string& folder) const;  // sorted; empty if the folder cannot be listed
  std::filesystem::path at(const std::string& path) const;

 private:
  std::filesystem::path root_;
};

// "0-3,8" → {0, 1, 2, 3, 8}; empty if the text is not a list of this form.
std::vector<int> parse_cpu_list(const std::string& text);

// Returns the value after "NAME:" or "NAME\t:" at the beginning of a line, without surrounding white space.
std::optional<std::string> field(const std::string& text, const std::string& name);

// Returns the whole number at the beginning of `text`, after white space.
std::optional<std::int64_t> leading_number(const std::string& text);

// Returns the cgroup folders of this process in /proc/self/cgroup that contain a controller's files: its own group
// first, then the parents up to the mount, because a parent's limit applies too. In a container the path may be that of
// the host, where only the mount's root exists. v1: the controller's hierarchy; v2: the unified one.
struct CgroupFolder {
  std::string path;
  bool unified = false;
};
std::vector<CgroupFolder> cgroup_folders(const Host& host, const std::string& controller);

}  // namespace ddpprof::host
