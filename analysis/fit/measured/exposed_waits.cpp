#include "analysis/fit/measured/exposed_waits.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include "analysis/fit/measured/rows.hpp"
#include "analysis/fit/measured/step_shares.hpp"

namespace ddpprof::fit {

std::vector<ExposedWait> exposed_waits(SQLite::Database& sql, std::int64_t measurement) {
  SQLite::Statement steps(sql,
                          "SELECT st.id, st.step, st.kind, st.start_ns, st.communication_ns, st.exposed_ns, "
                          "st.skew_ns, (SELECT MAX(g.ready_ns) FROM grad_ready g WHERE g.step_id = st.id) "
                          "FROM step st JOIN shard sh ON sh.id = st.shard_id "
                          "WHERE sh.measurement_id = ? AND st.skew_ns > 0 AND st.exposed_ns > 0 ORDER BY st.id");
  steps.bind(1, measurement);
  SQLite::Statement buckets(sql,
                            "SELECT start_ns, end_ns, COALESCE(skew_ns, 0) FROM collective WHERE step_id = ? AND "
                            "op = 'all_reduce' AND bucket >= 0 ORDER BY start_ns, sequence");
  std::vector<ExposedWait> waits;
  while (steps.executeStep()) {
    StepInfo step;
    step.id = steps.getColumn(0).getInt64();
    step.start_ns = steps.getColumn(3).getInt64();
    step.communication_ns = steps.getColumn(4).getInt64();
    step.exposed_ns = steps.getColumn(5).getInt64();
    step.skew_ns = steps.getColumn(6).getInt64();
    std::vector<CollectiveInfo> collectives;
    step.last_ready_ns = optional_ns(steps, 7);
    if (step.last_ready_ns) {
      buckets.reset();
      buckets.bind(1, step.id);
      while (buckets.executeStep()) {
        CollectiveInfo& one = collectives.emplace_back();
        one.start_ns = optional_ns(buckets, 0);
        one.end_ns = optional_ns(buckets, 1);
        one.skew_ns = buckets.getColumn(2).getInt64();
      }
    }
    std::vector<const CollectiveInfo*> ordered;
    for (const CollectiveInfo& one : collectives) ordered.push_back(&one);
    waits.push_back(
        {step.id, steps.getColumn(1).getInt64(), steps.getColumn(2).getString(), exposed_wait_ns(step, ordered)});
  }
  return waits;
}

}  // namespace ddpprof::fit
