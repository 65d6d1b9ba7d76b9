#include "analysis/ingest/ingest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/ingest/ingest_fixture.hpp"
#include "tests/store/nccl_records.hpp"
#include "tests/tiers.hpp"

namespace ddpprof::ingest {
namespace {

using store::Database;
using test::Ingest;
using test::TrainingShard;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using vocabulary::StepKind;

// Two ranks, one step of 1000 ns with two buckets, then one of 600 ns with two micro-batches and rebuilt buckets, then
// one that never ends. The ranks start at 1,000 and 50,000.
//
// Rank 0, step 0 (times since its start): forward 50-250, backward 250-850, optimizer 850-1000; gradients of parameter
// 1 at 400 and 0 at 500; launches 410, 510; in flight 420-600 and 600-800.
//   waiting = max(last gradient 500, last launch 510) to last end 800; the copy back 800-850 is compute.
//   compute = 50-510 and 800-1000 = 660; communication = 420-800 = 380; both = 420-510 = 90; exposed = 290.
// Rank 1, step 0: gradients 480, 550; launches 490, 560; in flight 500-600 and 600-790; backward ends at 840.
//   compute = 50-560 and 790-1000 (backward until 840, then optimizer) = 510 + 210 = 720;
//   communication = 290; both = 500-560 = 60; exposed = 230.
// Durations: bucket 0: 180 and 100, bucket 1: 200 and 190; so rank 0's skew is 80 + 10 = 90, rank 1's 0.
// Step 1 on both: forward 0-100, backward 100-200, forward 200-300, backward 300-500, optimizer 500-600; gradients of
// the second backward at 350 (1) and 400 (0); one bucket of both, launched 405, in flight 410-450.
//   compute = 600 minus waiting 405-450 = 555; communication 40, none of it overlapped; ready at 400; loss (2 + 1) / 2.
class TwoRanks : public Ingest {
 protected:
  TwoRanks() {
    for (int rank = 0; rank < 2; ++rank) {
      TrainingShard& t = rank == 0 ? zero : one;
      const std::int64_t base = rank == 0 ? 1000 : 50000;
      const auto at = [&](std::int64_t a, std::int64_t b) { return base + (rank == 0 ? a : b); };
      t.parameter(0, "weight", 100);
      t.parameter(1, "bias", 10);
      t.member(0, 0, 1, base - 10);
      t.member(0, 1, 0, base - 10);
      t.begin_step(0, base);
      t.phase("data_wait", base, base + 50);
      t.phase("forward", base + 50, base + 250);
      t.shard.push(TrainingShard::main_tid, base + 250, "backward", TrainingShard::domain);
      t.grad(1, at(400, 480));
      t.launch(0, 0, 40, at(410, 490));
      t.grad(0, at(500, 550));
      t.launch(1, 1, 400, at(510, 560));
      t.pop(at(850, 840));
      t.flight(0, 0, 40, at(420, 500), at(600, 600));
      t.flight(1, 1, 400, at(600, 600), at(800, 790), 21);  // ended by another thread
      t.phase("optimizer", at(850, 840), base + 1000);
      t.pop(base + 1000);
      const std::int64_t second = base + 1000;
      t.begin_step(1, second);
      t.member(1, 0, 1, second + 1);
      t.member(1, 0, 0, second + 1);
      t.phase("forward", second, second + 100);
      t.loss(2.0, second + 99);
      t.grad(1, second + 150);
      t.grad(0, second + 190);
      t.phase("backward", second + 100, second + 200);
      t.phase("forward", second + 200, second + 300);
      t.loss(1.0, second + 299);
      t.grad(1, second + 350);
      t.grad(0, second + 400);
      t.collective(2, 0, 440, second + 405, second + 410, second + 450);
      t.phase("backward", second + 300, second + 500);
      t.phase("optimizer", second + 500, second + 600);
      t.pop(second + 600);
      t.begin_step(2, second + 600);
      t.phase("forward", second + 600, second + 700);
    }
  }
  TrainingShard zero{0}, one{1};
};

TEST_F(TwoRanks, StepsAreAsDerived) {
  const IngestResult result = load({&zero, &one}, ddp(2));
  EXPECT_EQ(result.steps, 4);
  EXPECT_THAT(rows("SELECT rank, step, st.kind, samples, start_ns, duration_ns, data_wait_ns, forward_ns, backward_ns, "
                   "optimizer_ns, compute_ns, communication_ns, overlapped_ns, exposed_ns, skew_ns, copy_ns, loss "
                   "FROM step st JOIN shard sh ON sh.id = st.shard_id ORDER BY rank, step"),
              ElementsAre("0|0|measured|8|1000|1000|50|200|600|150|660|380|90|290|90|0|-",
                          "0|1|measured|8|2000|600|0|200|300|100|555|40|0|40|0|0|1.5",
                          "1|0|measured|8|50000|1000|50|200|590|160|720|290|60|230|0|0|-",
                          "1|1|measured|8|51000|600|0|200|300|100|555|40|0|40|0|0|1.5"));
}

TEST_F(TwoRanks, CollectivesAreMatchedAcrossRanks) {
  load({&one, &zero}, ddp(2));  // order must not matter
  EXPECT_THAT(
      rows("SELECT rank, sequence, op, bucket, bytes, ready_ns, launch_ns, start_ns, end_ns, transfer_ns, skew_ns, "
           "(SELECT step FROM step WHERE id = step_id) FROM collective c JOIN shard sh ON sh.id = c.shard_id "
           "WHERE communicator = -81985529216486896 ORDER BY rank, sequence"),
      ElementsAre(
          "0|0|all_reduce|0|40|1400|1410|1420|1600|100|80|0", "0|1|all_reduce|1|400|1500|1510|1600|1800|190|10|0",
          "0|2|all_reduce|0|440|2400|2405|2410|2450|40|0|1", "1|0|all_reduce|0|40|50480|50490|50500|50600|100|0|0",
          "1|1|all_reduce|1|400|50550|50560|50600|50790|190|0|0",
          "1|2|all_reduce|0|440|51400|51405|51410|51450|40|0|1"));
}

TEST_F(TwoRanks, ModelPhasesAndGradients) {
  load({&zero, &one}, ddp(2));
  EXPECT_THAT(rows("SELECT parameter, name, numel, bytes FROM parameter ORDER BY parameter"),
              ElementsAre("0|weight|100|400", "1|bias|10|40"));
  EXPECT_THAT(rows("SELECT generation, bucket, position, parameter FROM bucket ORDER BY 1, 2, 3"),
              ElementsAre("0|0|0|1", "0|1|0|0", "1|0|0|1", "1|0|1|0"));
  const std::string step_of_rank0 =
      "step_id = (SELECT st.id FROM step st JOIN shard sh ON sh.id = shard_id WHERE rank = 0 ";
  EXPECT_THAT(
      rows("SELECT name, lane, start_ns, duration_ns, bytes FROM phase WHERE " + step_of_rank0 + "AND step = 0)"),
      ElementsAre("data_wait|0|0|50|-", "forward|0|50|200|-", "backward|0|250|600|-", "optimizer|0|850|150|-"));
  // From the last micro-batch.
  EXPECT_THAT(rows("SELECT parameter, ready_ns FROM grad_ready WHERE " + step_of_rank0 + "AND step = 1)"),
              ElementsAre("0|400", "1|350"));
  EXPECT_THAT(codes(), ElementsAre("warning unbalanced_ranges 1", "warning steps_incomplete 1",
                                   "warning unbalanced_ranges 1", "warning steps_incomplete 1"));
}

// One step of 1000 ns that waits 300 ns for its batch, and two loader threads: one load starts before the step, one
// ends after it. Loading does not count as compute of the step. Each load belongs to the step in which it started, on
// its thread's lane.
TEST_F(Ingest, TheDataLoadersThreadsHaveLanesOfTheirOwn) {
  TrainingShard one(0, 1);
  one.load(0, 0, 900, 1300);
  one.load(1, 0, 1300, 1800);
  one.load(2, 1, 1500, 2400);
  one.begin_step(0, 1000);
  one.phase("data_wait", 1000, 1300);
  one.phase("forward", 1300, 1500);
  one.phase("backward", 1500, 1900);
  one.phase("optimizer", 1900, 2000);
  one.pop(2000);
  load({&one}, ddp(1));
  EXPECT_THAT(rows("SELECT name, lane, start_ns, duration_ns FROM phase ORDER BY lane DESC, start_ns"),
              ElementsAre("data_wait|0|0|300", "forward|0|300|200", "backward|0|500|400", "optimizer|0|900|100",
                          "load_batch|-1|300|500", "load_batch|-2|500|900"));
  EXPECT_THAT(rows("SELECT duration_ns, data_wait_ns, compute_ns, communication_ns FROM step"),
              ElementsAre("1000|300|700|0"));
  EXPECT_THAT(codes(), IsEmpty());
}

TEST_F(TwoRanks, SameInputSameRows) {
  load({&zero, &one}, ddp(2), RawPolicy::all);
  Database second = Database::create(folder / "b.db");
  const std::vector<std::filesystem::path> paths = {folder / "shard0", folder / "shard1"};
  ingest_measurement(second, ddp(2), paths, RawPolicy::all);
  for (const store::Table& table : store::tables()) {
    const std::string sql = "SELECT * FROM \"" + std::string(table.name) + "\" ORDER BY rowid";
    const auto first_rows = rows(sql);
    std::swap(database, second);
    EXPECT_EQ(rows(sql), first_rows) << table.name;
    std::swap(database, second);
  }
}

TEST_F(TwoRanks, RawEventsByPolicy) {
  load({&zero, &one}, ddp(2), RawPolicy::none);
  EXPECT_THAT(rows("SELECT count(*) FROM \"range\""), ElementsAre("0"));
  const IngestResult second = load({&zero, &one}, ddp(2), RawPolicy::rank0);
  EXPECT_EQ(second.measurement_id, 2);
  EXPECT_THAT(rows("SELECT DISTINCT rank, raw_kept FROM shard WHERE measurement_id = 2 ORDER BY rank"),
              ElementsAre("0|1", "1|0"));
  EXPECT_THAT(rows("SELECT DISTINCT rank FROM \"range\" r JOIN shard s ON s.id = r.shard_id"), ElementsAre("0"));
  EXPECT_THAT(
      rows("SELECT kind, depth, start_ns, end_ns, payload, d.value FROM \"range\" r JOIN string n ON n.id = name_id "
           "JOIN string d ON d.id = domain_id WHERE n.value = 'step' ORDER BY start_ns"),
      ElementsAre(R"(0|0|1000|2000|{"step":0,"kind":1,"samples":8}|ddpprof)",
                  R"(0|0|2000|2600|{"step":1,"kind":1,"samples":8}|ddpprof)",
                  R"(0|0|2600|-|{"step":2,"kind":1,"samples":8}|ddpprof)"));
  EXPECT_THAT(rows("SELECT kind, depth, payload FROM \"range\" r JOIN string n ON n.id = name_id "
                   "WHERE n.value = 'grad_ready' ORDER BY start_ns LIMIT 1"),
              ElementsAre("2|0|1"));
  EXPECT_THAT(rows("SELECT DISTINCT depth FROM \"range\" r JOIN string n ON n.id = name_id WHERE n.value = 'forward'"),
              ElementsAre("1"));
  EXPECT_THAT(rows("PRAGMA foreign_key_check"), IsEmpty());
  load({&zero, &one}, ddp(2), RawPolicy::all);
  EXPECT_THAT(rows("SELECT count(DISTINCT shard_id) FROM \"range\""), ElementsAre("3"));
}

TEST_F(TwoRanks, AMissingRankMakesSkewUnknown) {
  load({&zero}, ddp(2));
  EXPECT_THAT(rows("SELECT count(*) FROM collective WHERE skew_ns IS NOT NULL OR transfer_ns IS NOT NULL"),
              ElementsAre("0"));
  EXPECT_THAT(codes(), ElementsAre("warning unbalanced_ranges 1", "warning steps_incomplete 1", "error missing_shard 1",
                                   "warning collective_unmatched 3"));
  EXPECT_THAT(rows("SELECT message FROM diagnostic WHERE code = 'missing_shard'"), ElementsAre("no shard of rank 1"));
}

// Rank 1 is killed inside its first step, with bucket 1 in flight: bucket 0 is complete on both ranks.
TEST_F(TwoRanks, AKilledRankKeepsWhatItHad) {
  TrainingShard killed(1);
  killed.shard.header.closed = false;
  killed.begin_step(0, 100);
  killed.shard.push(TrainingShard::main_tid, 100, "backward", TrainingShard::domain);
  killed.collective(0, 0, 40, 110, 120, 200);
  killed.launch(1, 1, 400, 210);
  killed.flight(1, 1, 400, 220, std::nullopt);
  const IngestResult result = load({&zero, &killed}, ddp(2));
  EXPECT_EQ(result.steps, 2);
  EXPECT_THAT(
      rows("SELECT sequence, start_ns, end_ns, skew_ns, step_id FROM collective c JOIN shard s ON s.id = c.shard_id "
           "WHERE rank = 1 ORDER BY sequence"),
      ElementsAre("0|120|200|0|-", "1|220|-|-|-"));
  EXPECT_THAT(rows("SELECT rank, severity, code, count FROM diagnostic WHERE rank = 1 OR rank IS NULL"),
              ElementsAre("1|warning|unclosed_shard|1", "1|info|unbalanced_ranges|3", "1|info|steps_incomplete|1",
                          "1|warning|steps_incomplete|2", "-|warning|collective_unmatched|2"));
}

// DataParallel, one step of 1000 ns: forward 0-400 holds scatter 0-50, replicate 50-150, replicas 160-300 and 170-310,
// gather 320-360; backward 400-800 holds replicas 420-600 and 430-650, reduce 640-760; optimizer 800-900.
//   main thread without copies: 150-320, 360-640, 760-900; without the replicas' windows 160-310 and 420-650:
//   10 + 10 + 60 + 140 = 220; replicas 150 + 230 = 380; compute = 600.
//   communication = 150 + 40 + 120 = 310, of which 640-650 while replica 1 computes; exposed = 300.
TEST_F(Ingest, DataParallel) {
  TrainingShard t(-1);  // no launcher, so RANK is unset
  t.begin_step(0, 5000, 16);
  t.shard.push(TrainingShard::main_tid, 5000, "forward", TrainingShard::domain);
  t.copy("scatter", 5000, 5050, 64);
  t.copy("replicate", 5050, 5150, 640);
  t.replica("replica_forward", 0, 5160, 5300);
  t.replica("replica_forward", 1, 5170, 5310);
  t.copy("gather", 5320, 5360, 32);
  t.pop(5400);
  t.shard.push(TrainingShard::main_tid, 5400, "backward", TrainingShard::domain);
  t.replica("replica_backward", 0, 5420, 5600);
  t.replica("replica_backward", 1, 5430, 5650);
  t.copy("reduce", 5640, 5760, 640);
  t.pop(5800);
  t.phase("optimizer", 5800, 5900);
  t.pop(6000);
  MeasurementInfo info = ddp(2);
  info.strategy = "dp";
  info.oversubscription = 2.0;
  const IngestResult result = load({&t}, info);
  EXPECT_EQ(result.steps, 1);
  EXPECT_THAT(rows("SELECT rank, duration_ns, forward_ns, backward_ns, copy_ns, compute_ns, communication_ns, "
                   "overlapped_ns, exposed_ns FROM step JOIN shard sh ON sh.id = shard_id"),
              ElementsAre("0|1000|400|400|310|600|310|10|300"));
  EXPECT_THAT(
      rows("SELECT name, lane, start_ns, duration_ns, bytes FROM phase WHERE name LIKE 'rep%' ORDER BY start_ns"),
      ElementsAre("replicate|0|50|100|640", "replica_forward|1|160|140|-", "replica_forward|2|170|140|-",
                  "replica_backward|1|420|180|-", "replica_backward|2|430|220|-"));
  EXPECT_THAT(codes(), ElementsAre("warning oversubscribed 1"));
}

// With kernels, only they define busy times: compute 100-300 and 250-400, NCCL 350-600: 300, 250, overlap 50.
TEST_F(Ingest, KernelsTakeOver) {
  TrainingShard t(0, 1);
  t.begin_step(0, 1000);
  t.phase("forward", 1000, 1010);
  t.phase("backward", 1010, 1030);
  t.kernel("gemm", 1100, 1300);
  t.kernel("_Z4reluPf", 1250, 1400);
  t.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 1350, 1600);
  t.kernel("gemm", 1900, 2500);  // beyond the step
  t.pop(1700);
  load({&t}, ddp(1), RawPolicy::all);
  // The step is from 1000 to 1700: nothing runs from 1000 to 1100 and from 1600 to 1700.
  EXPECT_THAT(rows("SELECT compute_ns, communication_ns, overlapped_ns, exposed_ns, device_idle_ns FROM step"),
              ElementsAre("300|250|50|200|200"));
  EXPECT_THAT(rows("SELECT count(*), sum(grid), sum(block) FROM kernel"), ElementsAre("4|32|256"));
}

// Launches at 100 and 200; call 7 at 110 launched the kernel 300-400, calls 9 and 8 at 210 and 220 those at 450-500 and
// 500-600 (one collective, split); the kernel of call 5 ran before any launch, that of call 99 has no recorded call.
// The second ends after the host's backward, which is normal on a GPU.
TEST_F(Ingest, NcclKernelsGiveCollectivesTheirTimes) {
  TrainingShard t(0, 1);
  t.begin_step(0, 1000);
  t.shard.push(TrainingShard::main_tid, 1090, "backward", TrainingShard::domain);
  t.launch(0, 0, 40, 1100);
  t.launch(1, 1, 400, 1200);
  t.pop(1250);
  t.kernel("ncclDevKernel_AllReduce", 1020, 1040, 5);
  t.kernel("ncclDevKernel_AllReduce", 1300, 1400, 7);
  t.kernel("ncclKernel_AllReduce", 1450, 1500, 9);
  t.kernel("ncclKernel_AllReduce", 1500, 1600, 8);
  t.kernel("ncclKernel_AllReduce", 1650, 1660, 99);
  t.api(9, 1210, 1212);
  t.api(8, 1220, 1222);
  t.api(7, 1110, 1112);
  t.api(5, 1010, 1012);
  t.pop(1700);
  load({&t}, ddp(1), RawPolicy::all);
  EXPECT_THAT(rows("SELECT sequence, launch_ns, start_ns, end_ns, transfer_ns, skew_ns FROM collective ORDER BY 1"),
              ElementsAre("0|1100|1300|1400|100|0", "1|1200|1450|1600|150|0"));
  EXPECT_THAT(rows("SELECT communication_ns FROM step"), ElementsAre("280"));  // 20 + 100 + 150 + 10
  EXPECT_THAT(rows("SELECT count(*), min(domain), sum(correlation) FROM api_call"), ElementsAre("4|runtime|29"));
  EXPECT_THAT(codes(), IsEmpty());
}

// NCCL's plugin reports an operation after each launch: 10 floats after the first, another size than the launch's after
// the second, an all-gather after the third. Without a kernel of CUPTI, channels give the time of the first.
TEST_F(Ingest, NcclsPluginAddsNcclsChoices) {
  TrainingShard t(0, 1);
  test::add_communicator(t.shard, 1, 0xabc, 2);
  t.begin_step(0, 1000);
  for (int i = 0; i < 3; ++i) {
    t.launch(static_cast<std::uint64_t>(i), i, 40, 1100 + 100 * i);
    test::add_operation(t.shard, {.tid = TrainingShard::main_tid,
                                  .time_ns = 1110 + 100 * i,
                                  .operation = static_cast<std::uint64_t>(i + 1),
                                  .group = static_cast<std::uint64_t>(i + 1),
                                  .sequence = static_cast<std::uint64_t>(i),
                                  .count = i == 1 ? 11u : 10u,
                                  .function = i == 2 ? "AllGather" : "AllReduce"});
  }
  test::add_channel(t.shard, 1, 1, 500, 550, 1200, 1250);
  t.pop(1700);
  load({&t}, ddp(1), RawPolicy::none);
  EXPECT_THAT(
      rows("SELECT sequence, datatype, algorithm, protocol, channels, start_ns, end_ns FROM collective ORDER BY 1"),
      ElementsAre("0|float32|RING|LL|8|1200|1250", "1|-|-|-|-|-|-", "2|-|-|-|-|-|-"));
  EXPECT_THAT(codes(), testing::IsSupersetOf({"warning nccl_disagrees 2", "info nccl_channel_times 1"}));
}

// Recorded in flight 150-900, but the backward that waited for it ended at 400 (the backend's thread was preempted
// before it recorded the end): communication 150-400, and none in the optimizer (400-500) or the next step. Compute:
// forward 0-100, backward until the last launch 100-140, optimizer: 240. Other collectives than gradient buckets may
// outlast the backward: 380-420 stays.
TEST_F(Ingest, LateEndsAreCutToTheBackwardThatWaited) {
  TrainingShard t(0, 1);
  for (int i = 0; i < 2; ++i) {
    const std::int64_t start = 1000 + 500 * i;
    t.begin_step(i, start);
    t.phase("forward", start, start + 100);
    if (i == 0) t.collective(0, 0, 4, start + 140, start + 150, start + 900);
    if (i == 1) t.collective(1, -1, 4, start + 380, start + 380, start + 420);
    t.phase("backward", start + 100, start + 400);
    t.phase("optimizer", start + 400, start + 500);
    t.pop(start + 500);
  }
  load({&t}, ddp(1), RawPolicy::all);
  EXPECT_THAT(rows("SELECT compute_ns, communication_ns, overlapped_ns, exposed_ns FROM step WHERE step = 0"),
              ElementsAre("240|250|0|250"));
  EXPECT_THAT(rows("SELECT communication_ns FROM step WHERE step = 1"), ElementsAre("40"));
  EXPECT_THAT(rows("SELECT end_ns FROM collective ORDER BY sequence"), ElementsAre("1400", "1920"));
  EXPECT_THAT(rows("SELECT max(end_ns) FROM \"range\""), ElementsAre("2000"));
  EXPECT_THAT(rows("SELECT end_ns FROM \"range\" WHERE kind = 1 ORDER BY start_ns LIMIT 1"),
              ElementsAre("1900"));  // raw event: the recorded time
  EXPECT_THAT(codes(), ElementsAre("info collective_end_late 1"));
}

TEST_F(Ingest, UnwrappedAndWarmupSteps) {
  TrainingShard t(0, 1);
  for (int i = 0; i < 3; ++i) {
    const std::int64_t start = 1000 * (i + 1);
    t.begin_step(i, start, 8, i == 0 ? StepKind::warmup : i == 1 ? StepKind::measured : StepKind::unwrapped);
    t.phase("buffers", start, start + 20);
    t.phase("host_to_device", start + 20, start + 30);
    t.phase("forward", start + 100, start + 300);
    t.grad(0, start + 400);
    t.phase("backward", start + 300, start + 500);
    t.pop(start + 600);
  }
  load({&t}, ddp(1));
  EXPECT_THAT(rows("SELECT kind, compute_ns, communication_ns, buffers_ns, host_to_device_ns FROM step ORDER BY step"),
              ElementsAre("warmup|400|0|20|10", "measured|400|0|20|10", "unwrapped|400|0|20|10"));
  EXPECT_THAT(rows("SELECT s.kind, count(*) FROM phase JOIN step s ON s.id = step_id GROUP BY s.id"),
              ElementsAre("measured|4", "unwrapped|4"));
  EXPECT_THAT(rows("SELECT s.kind, ready_ns FROM grad_ready JOIN step s ON s.id = step_id"),
              ElementsAre("measured|400"));
}

TEST_F(Ingest, ClocksOfThreeHosts) {
  TrainingShard zero(0), one(1), two(2), child(1);
  one.shard.header.boot_id = child.shard.header.boot_id = "22222222-2222-2222-2222-222222222222";
  two.shard.header.boot_id = "33333333-3333-3333-3333-333333333333";
  for (TrainingShard* t : {&zero, &one, &two}) {
    t->begin_step(0, 100);
    t->pop(200);
  }
  one.exchange(1000, 8000, 50);
  one.exchange(1001, 9000, 11);
  zero.exchange(1000, 1003, 8);
  load({&zero, &one, &two, &child}, ddp(3));
  EXPECT_THAT(rows("SELECT rank, clock_reference, clock_offset_ns, clock_uncertainty_ns, measured_offset_ns FROM shard "
                   "ORDER BY id"),
              ElementsAre("0|same-clock|0|0|3", "1|exchange|7999|6|7999", "1|exchange|7999|6|7999",
                          "2|unknown|0|-|-"));  // rank 1's child shares its parent's clock
  EXPECT_THAT(codes(), ElementsAre("warning clock_unknown 1"));
}

TEST_F(Ingest, LossesAreReported) {
  TrainingShard t(0, 1), foreign(-1, -1);
  t.begin_step(0, 100);
  t.pop(200);
  t.pop(300);                                            // never pushed
  t.phase("forward", 900, 800);                          // ends before it starts
  t.shard.push(10, 100, "step", TrainingShard::domain);  // without a payload
  t.shard.pop(10, 200, TrainingShard::domain);
  t.shard.header.dropped_records = 12;
  t.shard.header.dropped_cupti_records = 5;
  trace::DiagnosticRecord forked{};
  forked.code = trace::DiagnosticCode::forked;
  forked.count = 1;
  t.shard.add(10, trace::RecordType::diagnostic, forked);
  test::ShardBuilder::write_bytes(folder / "garbage", std::as_bytes(std::span("no shard", 8)));
  const std::filesystem::path paths[] = {t.shard.write(folder / "t"), folder / "garbage", folder / "absent",
                                         foreign.shard.write(folder / "f")};
  const IngestResult result = ingest_measurement(database, ddp(1), paths, RawPolicy::all);
  EXPECT_EQ(result.steps, 1);
  EXPECT_THAT(codes(), testing::UnorderedElementsAre("error shard_unreadable 1", "error shard_unreadable 1",
                                                     "info forked 1", "error dropped_records 12",
                                                     "warning cupti_dropped 5", "warning unbalanced_ranges 1",
                                                     "error impossible_times 1", "error payload_unreadable 1"));
  EXPECT_EQ(result.diagnostics, 8);
  EXPECT_THAT(rows("SELECT rank FROM shard ORDER BY id"), ElementsAre("0", "-1"));
  EXPECT_THAT(rows("SELECT count(*) FROM diagnostic WHERE message = '' OR advice = ''"), ElementsAre("0"));
}

TEST_F(Ingest, AnEmptyMeasurementIsReported) {
  const IngestResult result = load({}, ddp(1));
  EXPECT_EQ(result.steps, 0);
  EXPECT_THAT(codes(), ElementsAre("error missing_shard 1", "error no_steps 1"));
}

// Flips one bit of every third byte of the records. The load always ends with a result, and no row refers to a missing
// row.
TEST_F(TwoRanks, FlippedBitsNeverStopTheLoad) {
  std::vector<std::byte> bytes = zero.shard.bytes();
  const std::filesystem::path other = one.shard.write(folder / "one");
  const std::filesystem::path paths[] = {folder / "zero", other};
  int damaged = 0;
  const std::size_t stride = test::long_tests() ? 3 : 13;
  for (std::size_t at = trace::shard_header_bytes; at < bytes.size(); at += stride) {
    if (bytes[at] == std::byte{0} && bytes[at - 8] == std::byte{0} && at % 1024 != 0) continue;  // mostly unused space
    const std::byte mask = std::byte{1} << (at % 8);
    bytes[at] ^= mask;
    test::ShardBuilder::write_bytes(folder / "zero", bytes);
    bytes[at] ^= mask;
    ASSERT_NO_THROW(ingest_measurement(database, ddp(2), paths, RawPolicy::rank0)) << at;
    ++damaged;
  }
  EXPECT_GT(damaged, stride == 3 ? 500 : 100);
  EXPECT_THAT(rows("PRAGMA foreign_key_check"), IsEmpty());
}

}  // namespace
}  // namespace ddpprof::ingest
