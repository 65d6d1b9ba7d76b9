// Waiting for slower ranks that no compute hides, step by step: the one source for reports, window and predictions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace SQLite {
class Database;
}

namespace ddpprof::fit {

struct ExposedWait {
  std::int64_t step_id = 0, step = 0;  // the row of a rank's step, and the step's number
  std::string kind;                    // of the step: measured, warmup, …
  std::int64_t wait_ns = 0;            // exposed_wait_ns()
};

// Returns the measurement's rank steps with exposed waiting, ordered by step_id. The waits are those that were
// recorded; predictions also estimate waits for ranks that were not imported. Throws SQLite::Exception.
std::vector<ExposedWait> exposed_waits(SQLite::Database&, std::int64_t measurement);

}  // namespace ddpprof::fit
