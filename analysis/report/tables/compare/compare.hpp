// Two trace databases beside each other: what differs, the largest difference that is sure first.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/report/core/table.hpp"

namespace ddpprof::store {
class Database;
}

namespace ddpprof::report {

// A key of the scenarios that the two were measured with, as YAML; "" where a scenario has no such key.
struct KeyDifference {
  std::string key, a, b;
};

// The report `compare` (docs/reference/report/compare.md). The same two files give the same report. Throws
// store::DatabaseError when one of them cannot be read. `stop` is asked before each part of the work, every interval
// among them; once it says so the report is empty.
Report compare(store::Database& a, store::Database& b, const std::vector<KeyDifference>& scenario_differences,
               const std::function<bool()>& stop = {});

// The words of the column `verdict`.
inline constexpr const char* different = "different";
inline constexpr const char* no_difference = "no difference shown";
inline constexpr const char* cannot_tell = "cannot tell";

}  // namespace ddpprof::report
