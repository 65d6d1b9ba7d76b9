// Names for the references of raw tables, shared by the two threads that read those tables.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/timeline/names.hpp"

namespace SQLite {
class Database;
}

namespace ddpprof::timeline {

// Strings of the string table are looked up without a lock. Other strings are added under a lock.
class SharedNames {
 public:
  SharedNames(SQLite::Database&, Names& names);

  std::uint32_t range(std::int64_t string_id) const;
  std::uint32_t unfinished(std::int64_t string_id) const;  // "… never ended"
  std::uint32_t kernel(std::int64_t string_id) const;      // demangled if it is mangled
  std::uint32_t call(std::int64_t string_id) const;        // of the CUDA interface
  std::uint32_t intern(const std::string& text, Category) const;

 private:
  std::string text(std::int64_t string_id) const;

  Names& names_;
  mutable std::mutex mutex_;
  std::vector<std::uint32_t> ranges_;  // by string id
  std::unordered_map<std::int64_t, std::string> texts_;
};

}  // namespace ddpprof::timeline
