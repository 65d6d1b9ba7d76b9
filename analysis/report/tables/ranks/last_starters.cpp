// The rank that starts each collective last, if the clocks are precise enough.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/metrics/row_scan.hpp"
#include "analysis/report/tables/ranks/skew.hpp"
#include "simulator/stats/summary.hpp"
#include "simulator/units/units.hpp"
#include "tracer/store/rows/queries.hpp"

namespace ddpprof::report {
namespace {

struct Clock {
  std::int64_t rank = 0;
  std::string host;
  std::optional<std::int64_t> uncertainty_ns;  // empty: the offset to rank 0's clock is unknown
  std::size_t number = 0;                      // the same for shards that share a clock
};

struct Start {
  const Clock* clock;
  std::int64_t ns;        // on rank 0's clock
  std::int64_t local_ns;  // as recorded
};

// Counts for one operation, bucket and size.
struct Kept {
  std::int64_t collectives = 0, known = 0;
  struct Rank {
    std::int64_t times = 0;
    std::string host;
  };
  std::map<std::int64_t, Rank> last;  // number of collectives in which the rank is last
  std::vector<double> later_s;  // start of the last rank − median start of the others, if the last rank is known
  std::set<std::int64_t> unknown_clocks;  // ranks
  std::int64_t too_close = 0;             // collectives in which another rank started within the uncertainty
  double uncertainty_s = 0;               // largest uncertainty between the last rank and the nearest other rank
};

// Shards with the same boot id share a monotonic clock. So do shards of an import that were aligned by the same offset.
std::map<std::int64_t, Clock> read_clocks(const Source& source) {
  using Offset = std::tuple<std::int64_t, std::int64_t, std::int64_t, double>;   // offset, at, uncertainty, drift
  std::map<std::tuple<std::int64_t, std::string, Offset>, std::size_t> numbers;  // by measurement
  std::map<std::int64_t, Clock> clocks;
  for (const store::ShardRow& shard : store::read_shards(source.db)) {
    const std::int64_t id = shard.id.value_or(0);
    Clock clock{shard.rank, shard.host, {}, 0};
    if (shard.clock_reference != "unknown") clock.uncertainty_ns = shard.clock_uncertainty_ns;
    std::string name = shard.boot_id;
    Offset offset;
    if (name.empty() && clock.uncertainty_ns)
      offset = {shard.clock_offset_ns, shard.clock_at_ns, *clock.uncertainty_ns, shard.clock_drift_ppb};
    else if (name.empty())
      name = "shard " + std::to_string(id);
    clock.number = numbers.try_emplace({shard.measurement_id, name, offset}, numbers.size()).first->second;
    clocks[id] = clock;
  }
  return clocks;
}

// Returns how much later `last` started than `other`, and the uncertainty.
struct Later {
  std::int64_t by_ns, doubt_ns;
};
Later later(const Start& last, const Start& other) {
  if (last.clock->number == other.clock->number) return {last.local_ns - other.local_ns, 0};
  return {last.ns - other.ns, last.clock->uncertainty_ns.value_or(0) + other.clock->uncertainty_ns.value_or(0)};
}

// Returns the last start on the clock of the latest start. Only this start can be known to be the last.
const Start& seemingly_last(const std::vector<Start>& starts) {
  const Start* last = &*std::ranges::max_element(starts, {}, &Start::ns);
  for (const Start& start : starts)
    if (start.clock->number == last->clock->number && start.local_ns > last->local_ns) last = &start;
  return *last;
}

void count(Kept& kept, const std::vector<Start>& starts) {
  if (starts.size() < 2) return;
  ++kept.collectives;
  const bool one_clock = std::ranges::all_of(
      starts, [&](const Start& start) { return start.clock->number == starts.front().clock->number; });
  bool all_known = true;
  for (const Start& start : starts)
    if (!one_clock && !start.clock->uncertainty_ns) {
      kept.unknown_clocks.insert(start.clock->rank);
      all_known = false;
    }
  if (!all_known) return;
  const Start& last = seemingly_last(starts);
  std::optional<Later> nearest;  // the smallest difference minus uncertainty
  std::vector<double> others;
  for (const Start& start : starts) {
    if (&start == &last) continue;
    const Later one = later(last, start);
    if (!nearest || one.by_ns - one.doubt_ns < nearest->by_ns - nearest->doubt_ns) nearest = one;
    others.push_back(units::ns_to_s(static_cast<double>(one.by_ns)));
  }
  kept.uncertainty_s = std::max(kept.uncertainty_s, units::ns_to_s(static_cast<double>(nearest->doubt_ns)));
  if (nearest->by_ns <= nearest->doubt_ns) {
    ++kept.too_close;
    return;
  }
  ++kept.known;
  Kept::Rank& rank = kept.last[last.clock->rank];
  ++rank.times;
  rank.host = last.clock->host;
  kept.later_s.push_back(stats::median(others));
}

std::string why(const Kept& kept) {
  std::string text;
  for (const std::int64_t rank : kept.unknown_clocks)
    text += fmt::format("{}{}", text.empty() ? "the offset to rank 0's clock is unknown for rank " : ", ", rank);
  if (kept.too_close > 0)
    text += fmt::format(
        "{}in {} collective{} the last start and another start are within the uncertainty of "
        "the two clocks",
        text.empty() ? "" : "; ", kept.too_close, kept.too_close == 1 ? "" : "s");
  return text;
}

}  // namespace

Table last_starters_table(const Source& source) {
  Table table = table_of_configurations(
      "last_starters", "Ranks that start collectives last",
      "Collectives of measured steps: the rank that most often starts a collective last on the aligned clocks. Known: "
      "collectives whose last rank starts later than every other rank by more than the sum of both clocks' "
      "uncertainties (0 for ranks that share a clock). Share: of the known collectives. Later by: median of (start of "
      "this rank − median start of the others). Uncertainty: the largest uncertainty between the last rank and the "
      "rank nearest to it. If clocks are unknown, use the column Last in the table of ranks, which uses no clock: the "
      "rank that arrives last waits least.");
  table.empty =
      "No collective of two or more ranks in a measured step. One trace is not enough to find the late rank: import "
      "the traces of all ranks.";
  table.key_columns += 3;
  append(table, {text("op", "op", true), count("bucket", "bucket"), count("bytes", "size", "bytes"),
                 count("collectives", "count"), count("known", "last known"), text("last_rank", "last rank"),
                 text("host", "host", true), share("last_share", "share"), seconds("later_s", "later by"),
                 seconds("uncertainty_s", "uncertainty", "later_s"), prose("why", "why not known")});
  const std::map<std::int64_t, Clock> clocks = read_clocks(source);
  const auto of = configuration_of_measurement(source);
  using Key = std::tuple<std::size_t, std::string, std::int64_t, std::int64_t>;  // configuration, op, bucket, bytes
  std::map<Key, Kept> all;
  std::tuple<std::int64_t, std::int64_t, std::int64_t> current{-1, 0, 0};
  Kept* kept = nullptr;
  std::vector<Start> starts;
  const auto finish = [&] {
    if (kept != nullptr) count(*kept, starts);
    starts.clear();
    kept = nullptr;
  };
  metrics::each_row(
      source.db,
      "SELECT c.measurement_id, c.communicator, c.sequence, c.shard_id, c.aligned_start_ns, c.op, c.bucket, c.bytes, "
      "c.start_ns FROM aligned_collective c JOIN step st ON st.id = c.step_id JOIN measurement m ON m.id = "
      "c.measurement_id "
      "WHERE st.kind = 'measured' AND c.start_ns IS NOT NULL AND m.world_size > 1 "
      "ORDER BY c.measurement_id, c.communicator, c.sequence, c.rank",
      {}, [&](sqlite3_stmt* row) {
        const auto number = [&](int column) { return sqlite3_column_int64(row, column); };
        const std::tuple here{number(0), number(1), number(2)};
        if (here != current) {
          finish();
          current = here;
          if (const auto found = of.find(number(0)); found != of.end())
            kept =
                &all[{found->second, reinterpret_cast<const char*>(sqlite3_column_text(row, 5)), number(6), number(7)}];
        }
        if (kept != nullptr) starts.push_back({&clocks.at(number(3)), number(4), number(8)});
      });
  finish();
  for (const auto& [key, one] : all) {
    if (one.collectives == 0) continue;
    const auto& [index, op, bucket, bytes] = key;
    const metrics::Configuration& c = source.configurations[index];
    Row row = configuration_cells(c);
    row.insert(row.end(), {op_text(op, c.world_size), bucket, bytes, one.collectives, one.known});
    const auto most = std::ranges::max_element(
        one.last, {}, [](const auto& rank) { return std::pair(rank.second.times, -rank.first); });
    if (most == one.last.end()) {
      row.insert(row.end(), {"not known", "", Cell(), Cell()});
    } else {
      row.insert(row.end(), {std::to_string(most->first), most->second.host,
                             static_cast<double>(most->second.times) / static_cast<double>(one.known),
                             stats::median(one.later_s)});
    }
    row.insert(row.end(), {one.known + one.too_close > 0 ? Cell(one.uncertainty_s) : Cell(), why(one)});
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace ddpprof::report
