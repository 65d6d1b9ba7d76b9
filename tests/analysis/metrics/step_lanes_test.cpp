// A measured step as lanes: all records, in the right place, each once.
#include "analysis/metrics/lanes/step_lanes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <string_view>

#include "tests/analysis/report/synthetic_run.hpp"

namespace ddpprof {
namespace {

using step::Lane;
using step::Segment;
using step::SegmentKind;
using step::StepLanes;
using test::ms;

class StepLanesTest : public testing::Test {
 protected:
  StepLanesTest()
      : path_(std::filesystem::path(testing::TempDir()) / ("step_lanes_" + std::to_string(getpid()) + ".db")),
        run_(path_) {}
  ~StepLanesTest() override {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  void phase(std::int64_t step, const char* name, std::int64_t lane, std::int64_t begin_ms, std::int64_t end_ms,
             std::optional<std::int64_t> bytes = {}) {
    store::Inserter<store::PhaseRow>(run_.database)
        .insert({step, name, lane, begin_ms * ms, (end_ms - begin_ms) * ms, bytes});
  }

  std::int64_t bare_step(std::int64_t shard, std::int64_t number, std::int64_t start_ms, std::int64_t duration_ms,
                         const char* kind = "measured") {
    store::StepRow row;
    row.shard_id = shard;
    row.step = number;
    row.kind = kind;
    row.start_ns = start_ms * ms;
    row.duration_ns = duration_ms * ms;
    return store::Inserter<store::StepRow>(run_.database).insert(row);
  }

  std::filesystem::path path_;
  test::SyntheticRun run_;
};

void expect_whole(const StepLanes& lanes) {
  ASSERT_FALSE(lanes.lanes.empty());
  double at_s = 0.0;
  for (const Segment& segment : lanes.lanes.front().segments) {
    EXPECT_EQ(segment.begin_s, at_s) << segment.name;
    at_s = segment.end_s;
  }
  EXPECT_EQ(at_s, lanes.step_s);
}

std::string text(const Lane& lane) {
  std::string out;
  for (const Segment& segment : lane.segments)
    out += segment.name + " (" + std::string(to_string(segment.kind)) + ") " +
           std::to_string(std::lround(segment.begin_s * 1e3)) + "-" + std::to_string(std::lround(segment.end_s * 1e3)) +
           "; ";
  return out;
}

TEST_F(StepLanesTest, OfDdpKeepWaitingCommunicationAndComputeApart) {
  const std::int64_t id = run_.measurement(test::train("ddp", 2));
  const std::int64_t shard = run_.shard(id, 1);
  store::Inserter<store::ParameterRow> parameters(run_.database);
  parameters.insert({id, 0, "fc.weight", 100, 400});
  const std::int64_t step = bare_step(shard, 7, 1000, 100);
  phase(step, "data_wait", 0, 0, 5);
  phase(step, "buffers", 0, 5, 8);
  phase(step, "forward", 0, 8, 30);
  phase(step, "backward", 0, 30, 85);
  phase(step, "optimizer", 0, 86, 98);
  store::Inserter<store::GradReadyRow> ready(run_.database);
  ready.insert({step, 1, 40 * ms});
  ready.insert({step, 0, 60 * ms});
  // A broadcast without overlap; an all-reduce from 45 ms that waits 4 ms for the other rank; an all-reduce from 62 to
  // 80 ms that waits 3 ms, queued for 1 ms after the last launch.
  run_.collective(shard, step, 0, -1, 64, 1005 * ms, 1006 * ms, 1007 * ms, 1 * ms);
  run_.collective(shard, step, 1, 0, 4096, 1041 * ms, 1045 * ms, 1065 * ms, 16 * ms);
  run_.collective(shard, step, 2, 1, 400, 1061 * ms, 1062 * ms, 1080 * ms, 15 * ms);

  const StepLanes lanes = metrics::measured_lanes(run_.database, id, 1);
  expect_whole(lanes);
  EXPECT_EQ(lanes.strategy, "ddp");
  EXPECT_EQ(lanes.workers, 2);
  EXPECT_EQ(lanes.rank, 1);
  EXPECT_EQ(metrics::measured_lanes(run_.database, id, std::nullopt).rank, 1) << "the only rank that recorded the step";
  EXPECT_EQ(lanes.step, 7);
  EXPECT_FALSE(lanes.simulated);
  EXPECT_EQ(lanes.step_s, 0.1);
  ASSERT_EQ(lanes.lanes.size(), 4U);
  EXPECT_EQ(text(lanes.lanes[0]),
            "input (input) 0-5; buffers (other) 5-6; waiting for all-reduce (exposed communication) 6-7; "
            "buffers (other) 7-8; forward (forward) 8-30; backward (backward) 30-61; "
            "waiting for all-reduces (exposed communication) 61-62; "
            "waiting for slower ranks (waiting for slower ranks) 62-65; "
            "waiting for all-reduces (exposed communication) 65-80; copies back (copies on the device) 80-85; "
            "other (other) 85-86; optimizer (optimizer) 86-98; other (other) 98-100; ");
  EXPECT_EQ(lanes.lanes[1].name, "gradients");
  EXPECT_EQ(text(lanes.lanes[1]),
            "all-reduce (launched) 5-5; gradient of parameter 1 (gradient ready) 40-40; "
            "all-reduce of bucket 0 (launched) 41-41; gradient of fc.weight (gradient ready) 60-60; "
            "all-reduce of bucket 1 (launched) 61-61; ");
  EXPECT_EQ(text(lanes.lanes[2]),
            "all-reduce (exposed communication) 6-7; "
            "all-reduce of bucket 0: waiting for slower ranks (waiting for slower ranks) 45-49; "
            "all-reduce of bucket 0 (overlapped communication) 49-61; "
            "all-reduce of bucket 0 (exposed communication) 61-65; ");
  EXPECT_EQ(text(lanes.lanes[3]),
            "all-reduce of bucket 1: waiting for slower ranks (waiting for slower ranks) 62-65; "
            "all-reduce of bucket 1 (exposed communication) 65-80; ");
  EXPECT_EQ(lanes.lanes[3].segments[1].bytes, 400);
  // Exposed as in the step table: in flight (1 + 35 ms) − overlapped with backward (16 ms).
  EXPECT_NEAR(total_s(lanes, SegmentKind::exposed) + total_s(lanes, SegmentKind::skew), 0.020, 1e-12);
}

TEST_F(StepLanesTest, OfShardedTrainingsShowTheUnits) {
  const std::int64_t id = run_.measurement(test::train("fsdp", 2));
  const std::int64_t shard = run_.shard(id, 0);
  store::Inserter<store::ShardedUnitRow> units(run_.database);
  units.insert({id, 0, "", 1, {}, 0, {}, 0, {}, {}, {}, 0});
  units.insert({id, 1, "layers.0", 0, {}, 4096, {}, 4096, {}, {}, {}, 0});
  const std::int64_t step = bare_step(shard, 3, 1000, 100);
  phase(step, "forward", 0, 0, 40);
  phase(step, "backward", 0, 40, 100);
  run_.collective(shard, step, 5, -1, 4096, 1002 * ms, 1002 * ms, 1008 * ms, 6 * ms);
  store::Inserter<store::ShardedWorkRow> work(run_.database);
  const auto add = [&](std::int64_t unit, const char* action, const char* pass, std::int64_t from_ms,
                       std::int64_t to_ms) {
    store::ShardedWorkRow row;
    row.step_id = step;
    row.unit = unit;
    row.action = action;
    row.pass = pass;
    row.start_ns = from_ms * ms;
    row.end_ns = to_ms * ms;
    if (std::string_view(action) == "all_gather") {
      row.communicator = -7;
      row.sequence = 5;
    }
    work.insert(row);
  };
  add(0, "compute", "forward", 0, 40);
  add(1, "all_gather", "forward", 2, 8);
  add(1, "copy", "forward", 8, 9);
  add(1, "compute", "forward", 9, 30);
  add(1, "compute", "backward", 50, 90);
  const StepLanes lanes = metrics::measured_lanes(run_.database, id, 0);
  expect_whole(lanes);
  const auto lane = [&](const std::string& name) -> std::string {
    for (const Lane& one : lanes.lanes)
      if (one.name == name) return text(one);
    return "no lane " + name;
  };
  EXPECT_EQ(lane("units"),
            "forward of the root (forward) 0-40; forward of layers.0 (forward) 9-30; backward of layers.0 (backward) "
            "50-90; ");
  EXPECT_EQ(lane("copies of units"), "copies of layers.0 (copies on the device) 8-9; ");
  EXPECT_THAT(lane("collectives 1"), testing::HasSubstr("of layers.0"));
}

TEST_F(StepLanesTest, OfDataParallelShowCopiesAndReplicas) {
  const std::int64_t id = run_.measurement(test::train("dp", 2));
  const std::int64_t shard = run_.shard(id, 0);
  const std::int64_t step = bare_step(shard, 0, 500, 100);
  phase(step, "forward", 0, 0, 50);
  phase(step, "replicate", 0, 0, 10, 2000);
  phase(step, "scatter", 0, 10, 12, 300);
  phase(step, "replica_forward", 1, 13, 40);
  phase(step, "replica_forward", 2, 14, 35);
  phase(step, "gather", 0, 41, 45, 40);
  phase(step, "backward", 0, 50, 90);
  phase(step, "replica_backward", 1, 51, 70);
  phase(step, "replica_backward", 2, 72, 80);
  phase(step, "reduce", 0, 81, 90, 2000);
  phase(step, "optimizer", 0, 90, 95);
  phase(step, "load_batch", -1, 60, 130);
  const StepLanes lanes = metrics::measured_lanes(run_.database, id, 0);
  expect_whole(lanes);
  EXPECT_EQ(lanes.strategy, "dp");
  ASSERT_EQ(lanes.lanes.size(), 4U);
  EXPECT_EQ(text(lanes.lanes[0]),
            "replicate (copies between devices) 0-10; scatter (copies between devices) 10-12; forward (forward) 12-13; "
            "forward of the replicas (forward) 13-40; forward (forward) 40-41; gather (copies between devices) 41-45; "
            "forward (forward) 45-50; backward (backward) 50-51; backward of the replicas (backward) 51-70; "
            "between replicas (other) 70-72; backward of the replicas (backward) 72-80; backward (backward) 80-81; "
            "reduce (copies between devices) 81-90; optimizer (optimizer) 90-95; other (other) 95-100; ");
  EXPECT_EQ(lanes.lanes[0].segments[0].bytes, 2000);
  EXPECT_EQ(lanes.lanes[1].name, "replica 0");
  EXPECT_EQ(text(lanes.lanes[1]), "forward (forward) 13-40; backward (backward) 51-70; ");
  EXPECT_EQ(lanes.lanes[3].name, "loader 0");
  EXPECT_EQ(text(lanes.lanes[3]), "makes a batch (input) 60-100; ");
}

TEST_F(StepLanesTest, OfAGpuSplitCommunicationByItsKernels) {
  store::MeasurementRow row = test::train("ddp", 2);
  row.device = "cuda";
  row.backend = "nccl";
  const std::int64_t id = run_.measurement(row);
  const std::int64_t shard = run_.shard(id, 0);
  const std::int64_t step = bare_step(shard, 0, 0, 100);
  phase(step, "backward", 0, 10, 20);
  run_.collective(shard, step, 0, 0, 4096, 15 * ms, 30 * ms, 60 * ms, 30 * ms);
  run_.database.sql().exec("INSERT INTO string VALUES (1, 'gemm'), (2, 'ncclDevKernel_AllReduce')");
  const auto kernel = [&](std::int64_t name, std::int64_t begin_ms, std::int64_t end_ms) {
    SQLite::Statement insert(
        run_.database.sql(),
        "INSERT INTO kernel (shard_id, name_id, device, stream, correlation, start_ns, end_ns, "
        "grid, block, registers_per_thread, shared_bytes) VALUES (?, ?, 3, 7, 0, ?, ?, 1, 1, 1, 0)");
    insert.bind(1, shard);
    insert.bind(2, name);
    insert.bind(3, begin_ms * ms);
    insert.bind(4, end_ms * ms);
    insert.exec();
  };
  kernel(1, -8, -2);
  kernel(1, -2, 5);  // from the previous step, still running
  kernel(1, 20, 30);
  kernel(1, 30, 45);
  kernel(2, 30, 60);
  kernel(1, 70, 80);
  const StepLanes lanes = metrics::measured_lanes(run_.database, id, 0);
  expect_whole(lanes);
  EXPECT_NE(lanes.note.find("the host thread"), std::string::npos);
  const auto lane = [&](const std::string& name) {
    const auto found =
        std::find_if(lanes.lanes.begin(), lanes.lanes.end(), [&](const Lane& one) { return one.name == name; });
    return found == lanes.lanes.end() ? "no " + name : text(*found);
  };
  EXPECT_EQ(text(lanes.lanes[0]), "other (other) 0-10; backward (backward) 10-20; other (other) 20-100; ")
      << "the host only launches work";
  EXPECT_EQ(lane("GPU 3 kernels"), "kernels (forward) 0-5; kernels (forward) 20-45; kernels (forward) 70-80; ");
  EXPECT_EQ(lane("collectives 1"),
            "all-reduce of bucket 0 (overlapped communication) 30-45; "
            "all-reduce of bucket 0 (exposed communication) 45-60; ");
}

TEST_F(StepLanesTest, OfAGpuWhoseKernelsWereNotKeptLeaveCommunicationUnsplit) {
  store::MeasurementRow row = test::train("ddp", 2);
  row.device = "cuda";
  row.backend = "nccl";
  const std::int64_t id = run_.measurement(row);
  const std::int64_t shard = run_.shard(id, 1);
  const std::int64_t step = bare_step(shard, 0, 0, 100);
  phase(step, "backward", 0, 10, 40);
  run_.collective(shard, step, 0, 0, 4096, 15 * ms, 30 * ms, 60 * ms, 25 * ms);
  const StepLanes lanes = metrics::measured_lanes(run_.database, id, 1);
  expect_whole(lanes);
  EXPECT_EQ(text(lanes.lanes.back()), "all-reduce of bucket 0, in flight (other) 30-60; ");
  EXPECT_EQ(lanes.lanes.back().segments[0].bytes, 4096);
  EXPECT_EQ(text(lanes.lanes[0]), "other (other) 0-10; backward (backward) 10-40; other (other) 40-100; ");
  EXPECT_NE(lanes.note.find("Overlapped and exposed communication of this rank are unknown"), std::string::npos)
      << lanes.note;
}

TEST_F(StepLanesTest, ACollectiveThatNeverEndedIsWaitedForUntilBackwardEnds) {
  const std::int64_t id = run_.measurement(test::train("ddp", 2));
  const std::int64_t shard = run_.shard(id, 0);
  const std::int64_t step = bare_step(shard, 0, 0, 100);
  phase(step, "backward", 0, 10, 50);
  run_.collective(shard, step, 0, 0, 4096, 20 * ms, 22 * ms, 30 * ms, 8 * ms);
  store::CollectiveRow lost;
  lost.shard_id = shard;
  lost.step_id = step;
  lost.sequence = 1;
  lost.bucket = 1;
  lost.launch_ns = 25 * ms;
  store::Inserter<store::CollectiveRow>(run_.database).insert(lost);
  const StepLanes lanes = metrics::measured_lanes(run_.database, id, 0);
  expect_whole(lanes);
  EXPECT_EQ(text(lanes.lanes[0]),
            "other (other) 0-10; backward (backward) 10-25; waiting for all-reduces (exposed communication) 25-30; "
            "waiting to communicate (other) 30-50; other (other) 50-100; ");
}

TEST_F(StepLanesTest, TypicalIsTheStepNearestTheMedianOfTheRanksMeans) {
  const std::int64_t id = run_.measurement(test::train("ddp", 2));
  const std::int64_t ranks[] = {run_.shard(id, 0), run_.shard(id, 1)};
  // Means are 100, 140 and 120 ms. Step 3 was not recorded by all ranks; step 9 is a warm-up.
  const std::int64_t durations[2][3] = {{90, 140, 100}, {110, 140, 140}};
  for (std::size_t rank = 0; rank < 2; ++rank) {
    for (std::int64_t i = 0; i < 3; ++i)
      bare_step(ranks[rank], i, 1000 * i, durations[rank][static_cast<std::size_t>(i)]);
    bare_step(ranks[rank], 9, 9000, 121, "warmup");
  }
  bare_step(ranks[0], 3, 5000, 121);
  EXPECT_EQ(metrics::typical_step(run_.database, id), 2);
  const StepLanes chosen = metrics::measured_lanes(run_.database, id, 1, 0);
  EXPECT_EQ(chosen.step, 0);
  EXPECT_EQ(chosen.step_s, 0.11);
  EXPECT_NE(chosen.note.find("measure.trace"), std::string::npos);
  EXPECT_NE(metrics::measured_lanes(run_.database, id, 0, 9).note.find("measured steps only"), std::string::npos);
}

TEST_F(StepLanesTest, SayWhatIsMissing) {
  const std::int64_t id = run_.measurement(test::train("ddp", 2));
  const std::int64_t shard = run_.shard(id, 0);
  EXPECT_THROW(metrics::typical_step(run_.database, id), std::invalid_argument);
  bare_step(shard, 0, 0, 10);
  EXPECT_NO_THROW(metrics::measured_lanes(run_.database, id, 0));
  try {
    metrics::measured_lanes(run_.database, id, 5);
    FAIL() << "rank 5 was not measured";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("rank 5"), std::string::npos);
  }
}

}  // namespace
}  // namespace ddpprof
