#include "analysis/ingest/rank_merge.hpp"

#include <SQLiteCpp/Statement.h>

#include <bit>
#include <map>
#include <optional>
#include <utility>

#include "tracer/store/rows/queries.hpp"

namespace ddpprof::ingest {
namespace {

struct CollectiveRecord {
  std::int64_t row = 0;
  std::optional<std::int64_t> step_id, start_ns, end_ns;
  std::uint64_t communicator = 0, sequence = 0;
};

std::optional<std::int64_t> optional_int(SQLite::Statement& query, int column) {
  if (query.getColumn(column).isNull()) return std::nullopt;
  return query.getColumn(column).getInt64();
}

void bind(SQLite::Statement& statement, int index, std::optional<std::int64_t> value) {
  if (value)
    statement.bind(index, *value);
  else
    statement.bind(index);
}

std::vector<CollectiveRecord> read_collectives(store::Database& database, std::int64_t first, std::int64_t last) {
  SQLite::Statement query(database.sql(),
                          "SELECT rowid, step_id, start_ns, end_ns, communicator, sequence FROM collective "
                          "WHERE rowid > ? AND rowid <= ? ORDER BY rowid");
  query.bind(1, first);
  query.bind(2, last);
  std::vector<CollectiveRecord> records;
  while (query.executeStep())
    records.push_back({query.getColumn(0).getInt64(), optional_int(query, 1), optional_int(query, 2),
                       optional_int(query, 3), std::bit_cast<std::uint64_t>(query.getColumn(4).getInt64()),
                       std::bit_cast<std::uint64_t>(query.getColumn(5).getInt64())});
  return records;
}

}  // namespace

void RankMerge::write(LoadedShard& shard) {
  for (CollectiveSummary& collective : shard.summary.collectives) {
    matcher_.add(shard.rank, collective.fact.communicator, collective.fact.sequence, collective.duration_ns());
    // The largest values reserve space: an update that enlarges a row would move half of the page's rows to another
    // page.
    collective.transfer_ns = collective.skew_ns = collective.duration_ns();
  }
  for (StepSummary& step : shard.summary.steps) step.row.skew_ns = step.row.duration_ns;
  Written written{
      shard.rank, {store::last_row(database_.sql(), "step"), 0}, {store::last_row(database_.sql(), "collective"), 0}};
  writer_.write_steps(std::span(&shard, 1));
  written.steps.last = store::last_row(database_.sql(), "step");
  written.collectives.last = store::last_row(database_.sql(), "collective");
  written_.push_back(written);
}

UnmatchedCollectives RankMerge::match(std::span<const std::int64_t> ranks_expected) {
  matcher_.close(ranks_expected);
  for (const Written& written : written_) match(written);
  return matcher_.unmatched();
}

void RankMerge::match(const Written& written) {
  std::map<std::int64_t, std::vector<Interval>> waits;  // by step
  SQLite::Statement update(database_.sql(), "UPDATE collective SET transfer_ns = ?, skew_ns = ? WHERE rowid = ?");
  for (const CollectiveRecord& record :
       read_collectives(database_, written.collectives.first, written.collectives.last)) {
    std::optional<std::int64_t> duration_ns, skew_ns;
    if (record.start_ns && record.end_ns) duration_ns = *record.end_ns - *record.start_ns;
    const std::optional<std::int64_t> transfer_ns =
        matcher_.transfer_ns(written.rank, record.communicator, record.sequence, duration_ns);
    if (transfer_ns) {
      skew_ns = *duration_ns - *transfer_ns;
      if (record.step_id) waits[*record.step_id].push_back({*record.start_ns, *record.start_ns + *skew_ns});
    }
    bind(update, 1, transfer_ns);
    bind(update, 2, skew_ns);
    update.bind(3, record.row);
    update.exec();
    update.reset();
  }
  std::vector<std::pair<std::int64_t, Interval>> steps;
  SQLite::Statement query(database_.sql(), "SELECT id, start_ns, duration_ns FROM step WHERE id > ? AND id <= ?");
  query.bind(1, written.steps.first);
  query.bind(2, written.steps.last);
  while (query.executeStep()) {
    const std::int64_t start_ns = query.getColumn(1).getInt64();
    steps.push_back({query.getColumn(0).getInt64(), {start_ns, start_ns + query.getColumn(2).getInt64()}});
  }
  query.reset();
  SQLite::Statement update_step(database_.sql(), "UPDATE step SET skew_ns = ? WHERE id = ?");
  for (const auto& [id, time] : steps) {
    update_step.bind(1, waiting_ns(std::move(waits[id]), time));
    update_step.bind(2, id);
    update_step.exec();
    update_step.reset();
  }
}

}  // namespace ddpprof::ingest
