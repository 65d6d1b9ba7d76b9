// The measured step of a measurement that is nearest to the median one.
#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/metrics/lanes/step_lanes.hpp"
#include "simulator/stats/summary.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::metrics {

std::int64_t typical_step(store::Database& database, std::int64_t measurement) {
  try {
    SQLite::Statement q(database.sql(),
                        "SELECT st.step, AVG(st.duration_ns), COUNT(DISTINCT sh.rank) FROM step st "
                        "JOIN shard sh ON sh.id = st.shard_id WHERE sh.measurement_id = ? AND st.kind = 'measured' "
                        "GROUP BY st.step ORDER BY st.step");
    q.bind(1, measurement);
    struct Candidate {
      std::int64_t step, ranks;
      double duration_ns;
    };
    std::vector<Candidate> all;
    std::int64_t most = 0;
    while (q.executeStep()) {
      all.push_back({q.getColumn(0).getInt64(), q.getColumn(2).getInt64(), q.getColumn(1).getDouble()});
      most = std::max(most, all.back().ranks);
    }
    std::erase_if(all, [&](const Candidate& one) { return one.ranks < most; });  // the mean of fewer ranks is another
    if (all.empty())
      throw std::invalid_argument("measurement " + std::to_string(measurement) + " contains no measured step");
    std::vector<double> durations;
    for (const Candidate& one : all) durations.push_back(one.duration_ns);
    const double median = stats::median(durations);
    return std::min_element(all.begin(), all.end(),
                            [&](const Candidate& a, const Candidate& b) {
                              return std::abs(a.duration_ns - median) < std::abs(b.duration_ns - median);
                            })
        ->step;
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

}  // namespace ddpprof::metrics
