// The options of a measurement's row, and warnings about its setup.
#include <SQLiteCpp/Database.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/import/ranks/measurement_setup.hpp"
#include "tests/store/shard_builder.hpp"

namespace ddpprof::ranks {
namespace {

class RecordMeasurement : public testing::Test {
 protected:
  // Records a measurement without ranks.
  store::Database record(const MeasurementSetup& setup) const {
    store::Database database = store::Database::create(folder_ / "run.db", store::Replace::yes);
    record_measurement(database, setup,
                       Recorded{.failure = "no rank started", .results = {}, .shards = {}, .notes = {}});
    return database;
  }
  nlohmann::json options(const MeasurementSetup& setup) const {
    return nlohmann::json::parse(record(setup).sql().execAndGet("SELECT options FROM measurement").getString());
  }
  // Returns the number of warnings that steps do not wait for the GPU.
  int warnings(const MeasurementSetup& setup) const {
    return record(setup)
        .sql()
        .execAndGet(
            "SELECT count(*) FROM diagnostic WHERE severity = 'warning' AND code = 'steps_do_not_wait' "
            "AND message LIKE '%GPU work after a block''s last step is in no step%' "
            "AND advice LIKE '%do not compare%every_step%'")
        .getInt();
  }

  test::TemporaryFolder folder_;
};

TEST_F(RecordMeasurement, SyncNeverIsInTheOptions) {
  MeasurementSetup setup;
  EXPECT_FALSE(options(setup).contains("sync"));
  setup.scenario.measure.sync = scenario::DeviceSync::never;
  EXPECT_EQ(options(setup).value("sync", ""), "never");
}

// On a CPU `never` changes no time.
TEST_F(RecordMeasurement, SyncNeverOnAGpuIsAWarning) {
  MeasurementSetup setup;
  setup.device = "cuda";
  EXPECT_EQ(warnings(setup), 0);
  setup.scenario.measure.sync = scenario::DeviceSync::never;
  EXPECT_EQ(warnings(setup), 1);
  setup.mode = WorkerMode::bench_comm;
  EXPECT_EQ(warnings(setup), 0);
  setup.mode = WorkerMode::train;
  setup.device = "cpu";
  EXPECT_EQ(warnings(setup), 0);
}

}  // namespace
}  // namespace ddpprof::ranks
