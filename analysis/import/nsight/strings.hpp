// The texts of an export by their number. Each is looked up when first needed, and then kept.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "analysis/import/nsight/nsight_file.hpp"

namespace ddpprof::import {

class Strings {
 public:
  // Limit of kept texts: an export may hold tens of millions, of which kernels and ranges use few.
  static constexpr std::size_t most_kept = std::size_t{1} << 18;

  explicit Strings(NsightFile&);
  ~Strings();

  // Null: no such text. Valid until the next call.
  const std::string* find(std::int64_t id);

 private:
  void load_all(NsightFile&);

  struct Lookup;
  std::unique_ptr<Lookup> lookup_;  // null: all texts were loaded
  std::unordered_map<std::int64_t, std::optional<std::string>> kept_;
};

}  // namespace ddpprof::import
