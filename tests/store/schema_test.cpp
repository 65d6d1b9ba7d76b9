#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/store/shard_builder.hpp"
#include "tracer/store/rows/inserter.hpp"

namespace ddpprof::store {
namespace {

TEST(Schema, CommittedDocumentIsTheGeneratedOne) {
  std::ifstream file(DDPPROF_SOURCE_DIR "/docs/reference/schema.md", std::ios::binary);
  ASSERT_TRUE(file) << "docs/reference/schema.md is missing; run ddpprof-schema-doc docs/reference/schema.md";
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, schema_markdown()) << "run ddpprof-schema-doc docs/reference/schema.md";
}

TEST(Schema, EveryTableViewAndIndexIsMade) {
  SQLite::Database sql(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  sql.exec(create_tables_sql());
  sql.exec(create_indexes_sql());
  sql.exec(create_indexes_sql());  // may run again: finish_load can follow each measurement
  const auto count = [&](const char* type) {
    SQLite::Statement query(sql, "SELECT count(*) FROM sqlite_master WHERE type = ? AND name NOT LIKE 'sqlite_%'");
    query.bind(1, type);
    query.executeStep();
    return static_cast<std::size_t>(query.getColumn(0).getInt());
  };
  EXPECT_EQ(count("table"), tables().size());
  EXPECT_EQ(count("view"), views().size());
  EXPECT_EQ(count("index"), indexes().size());
  for (const View& view : views()) EXPECT_NO_THROW(sql.exec("SELECT * FROM " + std::string(view.name)));
}

// Each field is written to the column of its name: every field gets a different value, and the columns are read by
// name.
TEST(Inserter, FieldsStandInTheirColumns) {
  test::TemporaryFolder folder;
  Database database = Database::create(folder / "a.db");
  StepRow step;
  step.id = 7;
  step.shard_id = 1;
  step.step = 2;
  step.kind = "unwrapped";
  step.samples = 4;
  step.start_ns = 5;
  step.duration_ns = 6;
  step.data_wait_ns = 8;
  step.host_to_device_ns = 9;
  step.buffers_ns = 10;
  step.forward_ns = 11;
  step.backward_ns = 12;
  step.optimizer_ns = 13;
  step.copy_ns = 14;
  step.compute_ns = 15;
  step.communication_ns = 16;
  step.overlapped_ns = 17;
  step.exposed_ns = 18;
  step.skew_ns = 19;
  step.loss = 0.5;
  step.learning_rate = 0.25;
  step.local_gradient_sqr = 6.5;
  step.gradient_sqr = 3.5;
  EXPECT_EQ(Inserter<StepRow>(database).insert(step), 7);
  const auto check = [&](const char* where) {
    SQLite::Statement query(database.sql(), std::string("SELECT count(*) FROM ") + where);
    query.executeStep();
    EXPECT_EQ(query.getColumn(0).getInt(), 1) << where;
  };
  check(
      "step WHERE id=7 AND shard_id=1 AND step=2 AND kind='unwrapped' AND samples=4 AND start_ns=5 AND duration_ns=6 "
      "AND data_wait_ns=8 AND host_to_device_ns=9 AND buffers_ns=10 AND forward_ns=11 AND backward_ns=12 AND "
      "optimizer_ns=13 AND copy_ns=14 AND compute_ns=15 AND communication_ns=16 AND overlapped_ns=17 AND "
      "exposed_ns=18 AND skew_ns=19 AND loss=0.5 AND learning_rate=0.25 AND local_gradient_sqr=6.5 AND "
      "gradient_sqr=3.5");
  Inserter<CollectiveRow>(database).insert(
      {1, 7, -3, 4, "broadcast", 5, 6, 7, 8, 9, 10, 11, 12, "float32", "RING", "LL", 13});
  check(
      "collective WHERE shard_id=1 AND step_id=7 AND communicator=-3 AND sequence=4 AND op='broadcast' AND bucket=5 "
      "AND bytes=6 AND ready_ns=7 AND launch_ns=8 AND start_ns=9 AND end_ns=10 AND transfer_ns=11 AND skew_ns=12 "
      "AND datatype='float32' AND algorithm='RING' AND protocol='LL' AND channels=13");
  Inserter<KernelRow>(database).insert({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  check(
      "kernel WHERE shard_id=1 AND name_id=2 AND device=3 AND stream=4 AND correlation=5 AND start_ns=6 AND end_ns=7 "
      "AND grid=8 AND block=9 AND registers_per_thread=10 AND shared_bytes=11");
  Inserter<MemcpyRow>(database).insert({1, "peer", 2, 3, 4, 5, 6, 7});
  check(
      "memcpy WHERE shard_id=1 AND kind='peer' AND device=2 AND stream=3 AND correlation=4 AND start_ns=5 AND "
      "end_ns=6 AND bytes=7");
  Inserter<ApiCallRow>(database).insert({1, "driver", 2, 3, 4, 5, 6, 7});
  check(
      "api_call WHERE domain='driver' AND cbid=2 AND tid=3 AND correlation=4 AND start_ns=5 AND end_ns=6 AND "
      "name_id=7");
  Inserter<DeviceTimeRow>(database).insert({1, "all", 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  check(
      "device_time WHERE shard_id=1 AND name='all' AND start_ns=2 AND span_ns=3 AND compute_ns=4 AND "
      "communication_ns=5 AND memory_ns=6 AND overlapped_ns=7 AND busy_ns=8 AND kernels=9 AND collective_kernels=10 "
      "AND copies=11");
  Inserter<KernelSummaryRow>(database).insert({1, 2, "copy", 3, 4, 5, 6});
  check(
      "kernel_summary WHERE shard_id=1 AND name_id=2 AND kind='copy' AND count=3 AND total_ns=4 AND minimum_ns=5 AND "
      "maximum_ns=6");
  Inserter<ShardedUnitRow>(database).insert({1, 2, "n", 1, 3, 4, 5, 6, 7, 8, 1, 0});
  check(
      "sharded_unit WHERE measurement_id=1 AND unit=2 AND name='n' AND root=1 AND parameters=3 AND gathered_bytes=4 "
      "AND "
      "gathered_element_bytes=5 AND scattered_bytes=6 AND scattered_element_bytes=7 AND ranks=8 AND gathers_again=1 "
      "AND "
      "scatters_by_all_reduce=0");
  Inserter<ShardedWorkRow>(database).insert({1, 2, "copy", "backward", 3, 4, 5, 6, 7, 8, 9, 10, 1, 11, 12});
  check(
      "sharded_work WHERE step_id=1 AND unit=2 AND action='copy' AND pass='backward' AND micro_batch=3 AND launch_ns=4 "
      "AND start_ns=5 AND end_ns=6 AND busy_ns=7 AND bytes=8 AND exposed_ns=9 AND hidden_by=10 AND prefetched=1 AND "
      "communicator=11 AND sequence=12");
  Inserter<RangeRow>(database).insert({1, 2, 3, 4, RangeKind::start_end, 5, 6, 7, 8.5});
  check(
      "\"range\" WHERE shard_id=1 AND tid=2 AND name_id=3 AND domain_id=4 AND kind=1 AND depth=5 AND start_ns=6 AND "
      "end_ns=7 AND payload=8.5");
  Inserter<PredictionRow>(database).insert(
      {"dp", 1, 2, 3, 4, 5, 0.9, 6, 7, 8, 9, 10, 11, 12, 13, 14, "latency", 15, "note"});
  check(
      "prediction WHERE strategy='dp' AND world_size=1 AND gpus_per_node=2 AND step_s=3 AND step_low_s=4 AND "
      "step_high_s=5 AND confidence=0.9 AND compute_s=6 AND communication_s=7 AND exposed_s=8 AND latency_s=9 AND "
      "bandwidth_s=10 AND skew_s=11 AND other_s=12 AND throughput=13 AND efficiency=14 AND bound='latency' AND "
      "extrapolation=15 AND note='note'");
  Inserter<FitRow>(database).insert({{}, "n", "s", "f", 1, "st", 2, 0.25, "p", "c", "r"});
  check(
      "fit WHERE name='n' AND strategy='s' AND form='f' AND usable=1 AND status='st' AND points=2 AND "
      "median_relative_error=0.25 AND parameters='p' AND covariance='c' AND residuals='r'");
  HostConditionRow condition;
  condition.measurement_id = 1;
  condition.host = "h";
  condition.ranks = 2;
  condition.window_ns = 3;
  condition.cpus = 4;
  condition.ranks_share = 0.5;
  condition.others_share = 0.25;
  condition.interrupt_share = 0.125;
  condition.steal_share = 0.0625;
  condition.frequency_begin_hz = 5;
  condition.frequency_end_hz = 6;
  condition.load_begin = 7;
  condition.load_end = 8;
  condition.thermal_throttles = 9;
  condition.quota_throttled_ns = 10;
  condition.voluntary_switches = 11;
  condition.involuntary_switches = 12;
  condition.major_faults = 13;
  Inserter<HostConditionRow>(database).insert(condition);
  check(
      "host_condition WHERE measurement_id=1 AND host='h' AND ranks=2 AND window_ns=3 AND cpus=4 AND ranks_share=0.5 "
      "AND others_share=0.25 AND interrupt_share=0.125 AND steal_share=0.0625 AND frequency_begin_hz=5 AND "
      "frequency_end_hz=6 AND load_begin=7 AND load_end=8 AND thermal_throttles=9 AND quota_throttled_ns=10 AND "
      "voluntary_switches=11 AND involuntary_switches=12 AND major_faults=13");
  Inserter<MemoryRow>(database).insert({1, 2, -1, std::nullopt, 3});
  check("memory WHERE measurement_id=1 AND rank=2 AND device=-1 AND held_bytes IS NULL AND peak_bytes=3");
  Inserter<MemoryRow>(database).insert({1, 2, 0, 4, 5});
  check("memory WHERE measurement_id=1 AND rank=2 AND device=0 AND held_bytes=4 AND peak_bytes=5");
  MeasurementRow measurement;
  measurement.world_size = 2;
  measurement.repeat = 3;
  measurement.parameter_count = 4;
  measurement.parameter_bytes = 5;
  measurement.batch_per_worker = 6;
  measurement.accumulation = 7;
  measurement.threads_per_rank = 8;
  measurement.cores = 9;
  measurement.oversubscription = 1.5;
  measurement.nodes = 10;
  measurement.started_utc_ns = 11;
  measurement.wall_ns = 12;
  measurement.model = "m";
  measurement.message = "msg";
  Inserter<MeasurementRow>(database).insert(measurement);
  check(
      "measurement WHERE world_size=2 AND repeat=3 AND parameter_count=4 AND parameter_bytes=5 AND "
      "batch_per_worker=6 AND accumulation=7 AND threads_per_rank=8 AND cores=9 AND oversubscription=1.5 AND nodes=10 "
      "AND started_utc_ns=11 AND wall_ns=12 AND model='m' AND message='msg' AND status='ok' AND kind='train' AND "
      "scenario_id IS NULL");
}

TEST(Inserter, EveryTableHasARowOfItsWidth) {
  test::TemporaryFolder folder;
  Database database = Database::create(folder / "a.db");
  std::size_t made = 0;
  const auto construct = [&]<class... Rows>() { ((Inserter<Rows>(database), ++made), ...); };
  construct.operator()<MetaRow, ScenarioRow, MeasurementRow, ShardRow, HostConditionRow, MemoryRow, ParameterRow,
                       BucketRow, DiagnosticRow, StepRow, PhaseRow, GradReadyRow, CollectiveRow, CommPointRow, FitRow,
                       PredictionRow, LearningRateRow, StringRow, ThreadRow, RangeRow, KernelRow, MemcpyRow, ApiCallRow,
                       DeviceTimeRow, KernelSummaryRow, ProcessGroupRow, ShardedUnitRow, ShardedWorkRow>();
  EXPECT_EQ(made, tables().size());
}

TEST(Inserter, RepeatedKeyIsAnError) {
  test::TemporaryFolder folder;
  Database database = Database::create(folder / "a.db");
  Inserter<MetaRow> meta(database);
  meta.insert({"format", "1"});
  EXPECT_THROW(meta.insert({"format", "2"}), DatabaseError);
  EXPECT_NO_THROW(meta.insert({"program_version", "2"}));  // the statement can be used again
}

TEST(StringInterner, OneIdATextAcrossConnections) {
  test::TemporaryFolder folder;
  std::int64_t first = 0;
  {
    Database database = Database::create(folder / "a.db");
    StringInterner strings(database);
    first = strings.intern("forward");
    EXPECT_NE(strings.intern("backward"), first);
    EXPECT_EQ(strings.intern("forward"), first);
    strings.intern("");
  }
  Database database = Database::open_write(folder / "a.db");
  EXPECT_EQ(StringInterner(database).intern("forward"), first);
}

}  // namespace
}  // namespace ddpprof::store
