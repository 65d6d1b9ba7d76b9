// Comparison of two trace databases, sorted by the largest significant difference.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/core/table.hpp"

namespace ddpprof::store {
class Database;
}

namespace ddpprof::report {

// A key that differs between the scenarios of the two files, as YAML; "" if a scenario does not have the key.
struct KeyDifference {
  std::string key, a, b;
};

// Returns the report `compare` (docs/reference/report/compare.md). The result is deterministic. Throws
// store::DatabaseError if a file cannot be read. `stop` is called before each part of the work, including every
// interval; if it returns true the report is empty.
Report compare(store::Database& a, store::Database& b, const std::vector<KeyDifference>& scenario_differences,
               const std::function<bool()>& stop = {});

// The measurements of one configuration in both files, by repeat.
struct ComparedMeasurements {
  std::vector<std::int64_t> a, b;
};

// Returns the measurements of each configuration of the table compare_waterfall, in its order. Throws as compare().
std::vector<ComparedMeasurements> waterfall_measurements(store::Database& a, store::Database& b);

// Selects measurements of one database. Exactly one member is set.
struct Selection {
  std::optional<std::int64_t> workers;
  std::optional<std::int64_t> batch_per_worker;
};

// Compares measurements of one database with others of the same database: equal in model, strategy, N, batch and
// accumulation but for the selected number. `a` and `b` must have the same member set. The report has no tables about
// files, fits and diagnostics, which are the same.
Report compare_within(store::Database&, const Selection& a, const Selection& b);

// Returns the words that the column `what` of the table compare_time can have; only those that a job has are rows.
std::vector<std::string> compared_parts();

// Values of the column `verdict`.
inline constexpr const char* different = "different";
inline constexpr const char* no_difference = "no difference shown";
inline constexpr const char* cannot_tell = "cannot tell";

}  // namespace ddpprof::report
