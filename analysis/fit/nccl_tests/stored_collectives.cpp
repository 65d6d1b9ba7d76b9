#include "analysis/fit/nccl_tests/stored_collectives.hpp"

#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>

#include <map>
#include <utility>

#include "tracer/store/files/error.hpp"

namespace ddpprof::fit {

std::vector<CollectiveRun> stored_collectives(store::Database& database) {
  try {
    SQLite::Database& sql = database.sql();
    if (sql.execAndGet("SELECT COUNT(*) FROM measurement WHERE kind <> 'bench-comm'").getInt64() > 0) return {};
    SQLite::Statement query(sql,
                            "SELECT m.id, c.op, m.world_size, m.nodes, c.bytes, MAX(c.duration_ns) FROM comm_point c "
                            "JOIN shard sh ON sh.id = c.shard_id JOIN measurement m ON m.id = sh.measurement_id "
                            "WHERE m.kind = 'bench-comm' AND m.backend = 'nccl' AND m.world_size > 1 AND "
                            "c.iteration % 2 = 0 AND c.bytes > 0 AND c.duration_ns > 0 "
                            "GROUP BY m.id, c.op, c.bytes, c.iteration ORDER BY m.id, c.op, c.bytes, c.iteration");
    std::map<std::pair<std::int64_t, std::string>, CollectiveRun> runs;
    while (query.executeStep()) {
      CollectiveRun& run = runs[{query.getColumn(0).getInt64(), query.getColumn(1).getString()}];
      run.op = query.getColumn(1).getString();
      run.ranks = query.getColumn(2).getInt64();
      run.hosts = query.getColumn(3).getInt64();
      run.times.push_back({static_cast<double>(query.getColumn(4).getInt64()), query.getColumn(5).getDouble() * 1e-9});
    }
    std::vector<CollectiveRun> all;
    for (auto& [key, run] : runs) all.push_back(std::move(run));
    return all;
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

}  // namespace ddpprof::fit
