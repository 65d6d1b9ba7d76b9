#include "tracer/store/clock.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>
#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/store/shard_builder.hpp"
#include "tracer/store/database.hpp"
#include "tracer/store/rows/inserter.hpp"
#include "tracer/store/rows/rows.hpp"

namespace ddpprof::store {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

TEST(Clock, SameBootIsTheSameClockAndKeepsWhatWasMeasured) {
  const std::vector<ClockExchange> exchanges = {{1000, 1040, 100}, {5000, 5010, 20}};
  const ClockAlignment alignment = align_clock(exchanges, true);
  EXPECT_EQ(alignment.reference, ClockReference::same_clock);
  EXPECT_EQ(alignment.offset_ns, 0);
  EXPECT_EQ(alignment.drift_ppb, 0.0);
  EXPECT_EQ(alignment.uncertainty_ns, 0);
  EXPECT_TRUE(alignment.measured_offset_ns.has_value());
  EXPECT_FALSE(align_clock({}, true).measured_offset_ns.has_value());
  EXPECT_EQ(align_clock({}, true).reference, ClockReference::same_clock);
}

TEST(Clock, WithoutExchangesTheClockIsUnknown) {
  const ClockAlignment alignment = align_clock({}, false);
  EXPECT_EQ(alignment.reference, ClockReference::unknown);
  EXPECT_FALSE(alignment.uncertainty_ns.has_value());
  const std::vector<ClockExchange> bad = {{1000, 1040, -1}};
  EXPECT_EQ(align_clock(bad, false).reference, ClockReference::unknown);
}

// Local clock L, rank 0's clock R = L + 5 s + 20 ppm of the time since L = 10 s. The offset is 5 s at 10 s and
// 100 s · 20e-6 = 2 ms more 100 s later, so the drift is 20,000 ppb. In each burst the exchange with the shortest round
// trip is exact; the error of the others is half their round trip. Uncertainty: the larger half round trip, 30 µs / 2.
TEST(Clock, OffsetAndDriftFromTheShortestRoundTrips) {
  std::vector<ClockExchange> exchanges;
  for (const auto& [start, best] : {std::pair{10 * second_ns, 20'000}, std::pair{110 * second_ns, 30'000}})
    for (int i = -2; i <= 2; ++i) {
      const std::int64_t local = start + i * 1'000'000;
      const std::int64_t exact = local + 5 * second_ns + (local - 10 * second_ns) / 50'000;
      const std::int64_t round_trip = best + std::abs(i) * 50'000;
      exchanges.push_back({local, exact + (i == 0 ? 0 : round_trip / 2), round_trip});
    }
  const ClockAlignment alignment = align_clock(exchanges, false);
  EXPECT_EQ(alignment.reference, ClockReference::exchange);
  EXPECT_EQ(alignment.offset_ns, 5 * second_ns);
  EXPECT_EQ(alignment.at_ns, 10 * second_ns);
  EXPECT_NEAR(alignment.drift_ppb, 20'000.0, 1e-6);
  EXPECT_EQ(alignment.uncertainty_ns, 15'000);
  EXPECT_EQ(alignment.measured_offset_ns, 5 * second_ns);
  EXPECT_EQ(to_reference_ns(alignment, 60 * second_ns), 65 * second_ns + 1'000'000);
}

TEST(Clock, OneBurstGivesNoDrift) {
  std::vector<ClockExchange> exchanges;
  for (int i = 0; i < 10; ++i) exchanges.push_back({1000 * i, 1000 * i + 77, 50 - i});
  const ClockAlignment alignment = align_clock(exchanges, false);
  EXPECT_EQ(alignment.drift_ppb, 0.0);
  EXPECT_EQ(alignment.offset_ns, 77);
  EXPECT_EQ(alignment.uncertainty_ns, 21);  // half of the shortest round trip, 41, rounded up
}

// Two bursts 10 ms apart with round trips of 100 µs: the error of the drift is 100 µs / 10 ms = 1 %, far above 500 ppm.
TEST(Clock, DriftThatCannotBeResolvedIsZero) {
  const std::vector<ClockExchange> exchanges = {{0, 1000, 100'000}, {10'000'000, 10'041'000, 100'000}};
  const ClockAlignment alignment = align_clock(exchanges, false);
  EXPECT_EQ(alignment.drift_ppb, 0.0);
  EXPECT_EQ(alignment.uncertainty_ns, 50'000);
}

// One burst at 0 with half a round trip of 25 ns. After an hour two clocks with a relative drift of 100 ppm differ by
// 0.36 s; an hour before the burst counts like an hour after it. A known drift or a shared clock needs no such
// allowance.
TEST(Clock, WithoutADriftUncertaintyGrowsWithTime) {
  const std::vector<ClockExchange> burst = {{10'000 * second_ns, 500, 50}};
  EXPECT_EQ(align_clock(burst, false).uncertainty_ns, 25);
  EXPECT_EQ(align_clock(burst, false, {10'000 * second_ns, 13'600 * second_ns}).uncertainty_ns, 360'000'025);
  EXPECT_EQ(align_clock(burst, false, {6'400 * second_ns, 10'001 * second_ns}).uncertainty_ns, 360'000'025);
  EXPECT_EQ(align_clock(burst, true, {10'000 * second_ns, 13'600 * second_ns}).uncertainty_ns, 0);
  const std::vector<ClockExchange> two = {{0, 500, 50}, {3600 * second_ns, 3600 * second_ns + 900, 60}};
  EXPECT_EQ(align_clock(two, false, {0, 3600 * second_ns}).uncertainty_ns, 30);
}

// The views and to_reference_ns implement the same formula.
TEST(Clock, ViewsAgree) {
  test::TemporaryFolder folder;
  Database database = Database::create(folder / "a.db");
  database.sql().exec(
      "INSERT INTO measurement(id,kind,strategy,world_size,repeat,backend,device,model,parameter_count,parameter_bytes,"
      "batch_per_worker,accumulation,precision,threads_per_rank,cores,oversubscription,nodes,versions,options,"
      "started_utc_ns,wall_ns,status,message) VALUES(1,'','',1,0,'','','',0,0,0,1,'',1,1,0,1,'','',0,0,'','');"
      "INSERT INTO shard VALUES(1,1,0,'','',1,'',1,'exchange',5000000000,-12345.5,7000,1,2,0);"
      "INSERT INTO step VALUES(1,1,0,'measured',1,90000000123,1,0,0,0,0,0,0,0,0,0,0,0,0,NULL,NULL,NULL,NULL,NULL)");
  const ClockAlignment alignment{ClockReference::exchange, 5 * second_ns, -12345.5, 7000, 1, 2};
  EXPECT_EQ(database.sql().execAndGet("SELECT aligned_start_ns FROM aligned_step").getInt64(),
            to_reference_ns(alignment, 90'000'000'123));
}

// Times of a clock without a known relation to rank 0's cannot be converted, nor ordered with other ranks.
TEST(Clock, ViewsHaveNoTimeOfAnUnknownClock) {
  test::TemporaryFolder folder;
  Database database = Database::create(folder / "a.db");
  Inserter<MeasurementRow>(database).insert({});
  Inserter<ShardRow> shards(database);
  for (const auto& [id, reference] : {std::pair{1, "same-clock"}, {2, "unknown"}}) {
    ShardRow shard;
    shard.id = id;
    shard.measurement_id = 1;
    shard.clock_reference = reference;
    shards.insert(shard);
    StepRow step;
    step.shard_id = id;
    step.start_ns = 1000;
    step.duration_ns = 10;
    Inserter<StepRow>(database).insert(step);
    CollectiveRow collective;
    collective.shard_id = id;
    collective.launch_ns = 1001;
    collective.start_ns = 1002;
    collective.end_ns = 1005;
    Inserter<CollectiveRow>(database).insert(collective);
  }
  const auto of = [&](const char* query) {
    std::vector<std::string> found;
    SQLite::Statement row(database.sql(), query);
    while (row.executeStep()) found.push_back(row.getColumn(0).isNull() ? "none" : row.getColumn(0).getString());
    return found;
  };
  EXPECT_THAT(of("SELECT aligned_start_ns FROM aligned_step ORDER BY shard_id"), testing::ElementsAre("1000", "none"));
  EXPECT_THAT(of("SELECT aligned_start_ns FROM aligned_collective ORDER BY shard_id"),
              testing::ElementsAre("1002", "none"));
  EXPECT_THAT(of("SELECT aligned_end_ns FROM aligned_collective ORDER BY shard_id"),
              testing::ElementsAre("1005", "none"));
}

}  // namespace
}  // namespace ddpprof::store
