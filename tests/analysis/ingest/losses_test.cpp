// Tests the diagnostics for lost, refused or missing data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <limits>

#include "tests/analysis/ingest/ingest_fixture.hpp"
#include "tests/store/nccl_records.hpp"

namespace ddpprof::ingest {
namespace {

using test::Ingest;
using test::TrainingShard;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

void add_diagnostic(TrainingShard& t, trace::DiagnosticCode code, std::uint64_t count, std::string_view detail = "") {
  trace::DiagnosticRecord record{};
  if (!detail.empty()) record.header.name_id = t.shard.text(detail);
  record.code = code;
  record.count = count;
  t.shard.add(TrainingShard::main_tid, trace::RecordType::diagnostic, record);
}

TEST_F(Ingest, AGpuWithoutAnyKernelIsAnError) {
  TrainingShard blind(0, 1), seeing(0, 1);
  for (TrainingShard* t : {&blind, &seeing}) {
    t->begin_step(0, 100);
    t->phase("forward", 100, 150);
    t->pop(200);
  }
  seeing.kernel("gemm", 120, 190);
  MeasurementInfo info = ddp(1);
  info.device = "cuda";
  load({&seeing}, info);
  EXPECT_THAT(codes(), IsEmpty());
  load({&blind}, info);
  EXPECT_THAT(codes(), ElementsAre("error gpu_not_measured 1"));
  info.device = "cpu";
  load({&blind}, info);
  EXPECT_THAT(codes(), ElementsAre("error gpu_not_measured 1"));  // only the earlier one: a CPU has no kernels
}

// A graph is captured once, with a mark, and replayed in two steps. The kernels of each replay are communication of
// their step, but none belongs to the captured collective, which ran once before.
TEST_F(Ingest, KernelsOfReplayedGraphsBelongToNoCollective) {
  TrainingShard t(0, 1);
  t.begin_step(0, 1000);
  t.launch(0, 0, 40, 1100);
  t.api(7, 1110, 1112);
  t.kernel("ncclDevKernel_AllReduce", 1200, 1300, 7);
  t.pop(2000);
  t.launch(1, 0, 40, 2100);  // while the graph is captured, nothing runs
  for (const std::int64_t start_ns : {3000, 4000}) {
    t.begin_step(start_ns / 1000, start_ns);
    t.api(8, start_ns + 10, start_ns + 20);  // cudaGraphLaunch
    t.kernel("gemm", start_ns + 50, start_ns + 200, 8, 11);
    t.kernel("ncclDevKernel_AllReduce", start_ns + 100, start_ns + 400, 8, 12);
    t.pop(start_ns + 900);
  }
  load({&t}, ddp(1));
  EXPECT_THAT(rows("SELECT communication_ns, overlapped_ns FROM step ORDER BY step"),
              ElementsAre("100|0", "300|100", "300|100"));
  EXPECT_THAT(rows("SELECT sequence, start_ns, end_ns FROM collective WHERE start_ns IS NOT NULL ORDER BY 1"),
              ElementsAre("0|1200|1300"));
  EXPECT_THAT(codes(), testing::Contains("info graph_collectives 2"));
}

// A killed process: 0.4 s of GPU activity was still in CUPTI's buffers.
TEST_F(Ingest, MissingGpuActivityOfAKilledProcessIsReported) {
  TrainingShard t(0, 1);
  t.begin_step(0, 1'000'000'000);
  t.kernel("gemm", 1'100'000'000, 1'500'000'000);
  t.pop(1'900'000'000);
  load({&t}, ddp(1));
  EXPECT_THAT(codes(), IsEmpty());
  t.shard.header.closed = false;
  load({&t}, ddp(1));
  EXPECT_THAT(codes(), ElementsAre("warning unclosed_shard 1", "warning gpu_tail_lost 1"));
  EXPECT_THAT(rows("SELECT message FROM diagnostic WHERE code = 'gpu_tail_lost'")[0],
              ::testing::HasSubstr("is 0.4 s before the last event"));
  TrainingShard host_only(0, 1);
  host_only.shard.header.closed = false;
  host_only.begin_step(0, 100);
  host_only.pop(200);
  database.sql().exec("DELETE FROM diagnostic");
  load({&host_only}, ddp(1));
  EXPECT_THAT(codes(), ElementsAre("warning unclosed_shard 1"));
}

TEST_F(Ingest, AGpuThatFallsSilentWhileStepsGoOnIsAnError) {
  for (const int with : {2, 3, 6}) {
    TrainingShard t(0, 1);
    for (int step = 0; step < 6; ++step) {
      t.begin_step(step, 1000 * (step + 1));
      if (step < with) t.kernel("gemm", 1000 * (step + 1) + 100, 1000 * (step + 1) + 400);
      t.pop(1000 * (step + 1) + 900);
    }
    database.sql().exec("DELETE FROM diagnostic");
    load({&t}, ddp(1));
    if (with == 6) {
      EXPECT_THAT(codes(), IsEmpty());
    } else {
      EXPECT_THAT(codes(), ElementsAre("error gpu_stopped " + std::to_string(6 - with)));
    }
  }
}

// The tracer's diagnostics of CUPTI keep their reason.
TEST_F(Ingest, WhatCuptiLeftOutIsAWarningWithTheReason) {
  TrainingShard t(0, 1);
  t.begin_step(0, 100);
  t.pop(200);
  add_diagnostic(t, trace::DiagnosticCode::cupti_incomplete, 1, "CUPTI refused markers (27)");
  load({&t}, ddp(1));
  EXPECT_THAT(rows("SELECT severity || ' ' || message FROM diagnostic"),
              ElementsAre("warning some GPU activity is missing: CUPTI refused markers (27)"));
}

// Gloo on a GPU: in flight 300-500, timed by the backend's thread; NCCL's kernel 450-600; compute 200-400.
// Communication 300-600 = 300, of which 300-400 overlaps compute. The backward ended on the host at 480: Gloo's late
// end is cut to it, NCCL's is not.
TEST_F(Ingest, HostTimedCollectivesCountBesidesNcclKernels) {
  TrainingShard t(0, 1);
  t.begin_step(0, 1000);
  t.shard.push(TrainingShard::main_tid, 1100, "backward", TrainingShard::domain);
  t.collective(0, 0, 40, 1290, 1300, 1500);
  t.launch(1, 1, 40, 1400);
  t.pop(1480);
  t.kernel("gemm", 1200, 1400);
  t.api(7, 1410, 1412);
  t.kernel("ncclDevKernel_AllReduce", 1450, 1600, 7);
  t.pop(1700);
  load({&t}, ddp(1));
  EXPECT_THAT(rows("SELECT compute_ns, communication_ns, overlapped_ns, exposed_ns FROM step"),
              ElementsAre("200|300|100|200"));
  EXPECT_THAT(rows("SELECT sequence, start_ns, end_ns FROM collective ORDER BY 1"),
              ElementsAre("0|1300|1480", "1|1450|1600"));
}

// Rank 0 is early for two collectives that are in flight together, 100-500 and 200-600; those of rank 1 take 100 each.
// The waiting of rank 0, 100-400 and 200-500, is 400 in total, not 300 + 300.
TEST_F(Ingest, SkewOfAStepIsTheUnionOfItsWaiting) {
  TrainingShard zero(0), one(1);
  for (TrainingShard* t : {&zero, &one}) {
    t->begin_step(0, 1000);
    t->pop(2000);
  }
  zero.collective(0, 0, 40, 1090, 1100, 1500);
  zero.collective(1, 1, 40, 1190, 1200, 1600);
  one.collective(0, 0, 40, 1390, 1400, 1500);
  one.collective(1, 1, 40, 1490, 1500, 1600);
  load({&zero, &one}, ddp(2));
  EXPECT_THAT(rows("SELECT skew_ns FROM collective c JOIN shard s ON s.id = shard_id ORDER BY rank, sequence"),
              ElementsAre("300", "300", "0", "0"));
  EXPECT_THAT(rows("SELECT skew_ns FROM step st JOIN shard s ON s.id = shard_id ORDER BY rank"),
              ElementsAre("400", "0"));
}

// The header counts 12 + 3 records; diagnostics report 12 in two buffers, and 3. A header that counts more (a
// diagnostic was dropped) adds the rest.
TEST_F(Ingest, CuptiLossesAreCountedOnce) {
  TrainingShard t(0, 1);
  t.begin_step(0, 100);
  t.pop(200);
  add_diagnostic(t, trace::DiagnosticCode::cupti_dropped, 5, "no buffer space");
  add_diagnostic(t, trace::DiagnosticCode::cupti_dropped, 7, "no buffer space");
  add_diagnostic(t, trace::DiagnosticCode::cupti_dropped, 3, "no times");
  t.shard.header.dropped_cupti_records = 15;
  load({&t}, ddp(1));
  EXPECT_THAT(codes(), ElementsAre("warning cupti_dropped 12", "warning cupti_dropped 3"));
  database.sql().exec("DELETE FROM diagnostic");
  t.shard.header.dropped_cupti_records = 20;
  load({&t}, ddp(1));
  EXPECT_THAT(codes(), ElementsAre("warning cupti_dropped 12", "warning cupti_dropped 3", "warning cupti_dropped 5"));
}

// A cap of 1 MiB: whole chunks of 64 KiB below it; the message rounds up. Both chunks are used.
TEST_F(Ingest, AFullShardReportsTheReason) {
  TrainingShard t(0, 1);
  t.begin_step(0, 100);
  t.pop(200);
  t.shard.header.dropped_records = 7;
  const auto said = [&] {
    database.sql().exec("DELETE FROM diagnostic");
    load({&t}, ddp(1));
    EXPECT_THAT(codes(), testing::Each("error shard_full 7"));
    return rows("SELECT message || ' / ' || advice FROM diagnostic").at(0);
  };
  t.shard.header.growth_error = ENOSPC;
  EXPECT_THAT(said(), testing::AllOf(testing::HasSubstr("No space left on device"), testing::HasSubstr("free space")));
  t.shard.header.growth_error = EFBIG;
  EXPECT_THAT(said(), testing::HasSubstr("ulimit -f"));
  t.shard.header.growth_error = ENOMEM;
  EXPECT_THAT(said(), testing::HasSubstr("ulimit -v"));
  t.shard.header.growth_error = 0;
  t.shard.header.chunk_capacity = 2;
  EXPECT_THAT(said(), testing::AllOf(testing::HasSubstr("cap of 1 MiB"), testing::HasSubstr("DDPPROF_TRACE_MAX_MB")));
}

TEST_F(Ingest, CuptiRecordsThatNoTableKeepsAreCounted) {
  TrainingShard t(0, 1);
  t.begin_step(0, 100);
  t.pop(200);
  for (int i = 0; i < 2; ++i) t.shard.add(20, trace::RecordType::gpu_marker, trace::GpuMarkerRecord{});
  for (int i = 0; i < 3; ++i) t.shard.add(20, trace::RecordType::correlation, trace::CorrelationRecord{});
  t.shard.add(20, trace::RecordType::overhead, trace::OverheadRecord{});
  load({&t}, ddp(1));
  EXPECT_THAT(codes(), ElementsAre("info records_not_kept 6"));
  EXPECT_THAT(rows("SELECT message FROM diagnostic"),
              ElementsAre(testing::HasSubstr("2 markers, 3 external correlations, 1 overhead records")));
}

TEST_F(Ingest, ALostLaunchMarkIsReportedAndReplacedByTheStart) {
  TrainingShard t(0, 1);
  t.begin_step(0, 100);
  t.flight(0, -1, 40, 120, 150);
  t.collective(1, -1, 40, 155, 160, 170);
  t.pop(200);
  load({&t}, ddp(1));
  EXPECT_THAT(rows("SELECT launch_ns, start_ns FROM collective ORDER BY sequence"), ElementsAre("120|120", "155|160"));
  EXPECT_THAT(codes(), ElementsAre("warning launch_mark_lost 1"));
}

// A data loader's worker ends by _exit. A killed rank that was started by fork must be reported as a crash.
TEST_F(Ingest, AForkedChildThatEndsByExitIsNotACrash) {
  TrainingShard rank(0, 1), worker(-1, -1), killed(0, 1);
  rank.begin_step(0, 100);
  rank.pop(200);
  killed.begin_step(0, 100);
  killed.pop(200);
  for (TrainingShard* t : {&worker, &killed}) {
    t->shard.header.closed = false;
    add_diagnostic(*t, trace::DiagnosticCode::forked, 1);
  }
  load({&rank, &worker}, ddp(1));
  EXPECT_THAT(rows("SELECT rank, severity, code FROM diagnostic"),
              ElementsAre("-|info|unclosed_shard", "-|info|forked"));
  database.sql().exec("DELETE FROM diagnostic");
  load({&killed}, ddp(1));
  EXPECT_THAT(codes(), ElementsAre("warning unclosed_shard 1", "info forked 1"));
}

TEST_F(Ingest, ALossThatIsNotANumberIsReported) {
  TrainingShard t(0, 1);
  const double losses[] = {2.5, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
  for (int i = 0; i < 3; ++i) {
    t.begin_step(i, 100 * i);
    t.loss(losses[i], 100 * i + 50);
    t.pop(100 * i + 100);
  }
  load({&t}, ddp(1));
  EXPECT_THAT(rows("SELECT loss FROM step ORDER BY step"), ElementsAre("2.5", "-", "-"));
  EXPECT_THAT(codes(), ElementsAre("warning loss_not_finite 2"));
}

// Two marks of a step are averaged, like losses. A pair of norms with one invalid norm is ignored.
TEST_F(Ingest, RatesAndNormsBelongToTheirStep) {
  TrainingShard t(0, 1);
  const double infinite = std::numeric_limits<double>::infinity();
  const double norms[3][2] = {{6.5, 3.5}, {infinite, 1.0}, {2.0, 0.0}};
  for (int i = 0; i < 3; ++i) {
    t.begin_step(i, 100 * i);
    t.number(vocabulary::learning_rate, 0.1 * (i + 1), 100 * i + 40);
    t.number(vocabulary::local_gradient_sqr, norms[i][0], 100 * i + 50);
    t.number(vocabulary::gradient_sqr, norms[i][1], 100 * i + 60);
    t.pop(100 * i + 100);
  }
  t.number(vocabulary::learning_rate, 9.0, 1000);  // outside steps
  load({&t}, ddp(1));
  EXPECT_THAT(rows("SELECT learning_rate, local_gradient_sqr, gradient_sqr FROM step ORDER BY step"),
              ElementsAre("0.1|6.5|3.5", "0.2|-|-", "0.3|2.0|0.0"));
  EXPECT_THAT(codes(), ElementsAre("warning gradient_not_finite 1"));
}

// One exchange, 10 s before the rank's last event: 100 ppm of 10 s are 1 ms, added to half the round trip.
TEST_F(Ingest, AClockWithoutDriftGrowsUncertain) {
  TrainingShard zero(0), one(1);
  one.shard.header.boot_id = "22222222-2222-2222-2222-222222222222";
  for (TrainingShard* t : {&zero, &one}) {
    t->begin_step(0, 1000);
    t->pop(10'000'001'000);
  }
  one.exchange(1000, 8000, 50);
  load({&zero, &one}, ddp(2));
  EXPECT_THAT(rows("SELECT clock_uncertainty_ns FROM shard ORDER BY rank"), ElementsAre("0", "1000025"));
}

// One machine is up for 30 days, rank 0's for an hour. 60 s of training after the only exchange give 60 s x 100 ppm = 6
// ms, plus half the round trip. Rank 0's clock and the round trip are not times of events of rank 1.
TEST_F(Ingest, TimesOfAnExchangeAreNotEvents) {
  constexpr std::int64_t second_ns = 1'000'000'000;
  constexpr std::int64_t here_ns = 30 * 86'400 * second_ns, there_ns = 3'600 * second_ns;
  TrainingShard zero(0), one(1);
  one.shard.header.boot_id = "22222222-2222-2222-2222-222222222222";
  for (const auto& [t, start_ns] : {std::pair(&zero, there_ns), std::pair(&one, here_ns)}) {
    t->begin_step(0, start_ns);
    t->pop(start_ns + 60 * second_ns);
  }
  one.exchange(here_ns, there_ns, 50'000);
  load({&zero, &one}, ddp(2));
  EXPECT_THAT(rows("SELECT clock_uncertainty_ns FROM shard ORDER BY rank"), ElementsAre("0", "6025000"));
}

// The same with rank 0's clock ahead: the last event of a killed rank is its own, not rank 0's time days later.
TEST_F(Ingest, RankZerosClockIsNotTheLastEventOfAKilledGpuRank) {
  constexpr std::int64_t second_ns = 1'000'000'000;
  TrainingShard t(0, 1);
  t.shard.header.closed = false;
  for (int step = 0; step < 6; ++step) {
    t.begin_step(step, (step + 1) * second_ns / 10);
    if (step < 3) t.kernel("gemm", (step + 1) * second_ns / 10 + 1000, (step + 1) * second_ns / 10 + 2000);
    t.pop((step + 1) * second_ns / 10 + 5000);
  }
  t.exchange(second_ns / 10, 86'400 * second_ns, 50'000);
  load({&t}, ddp(1));
  EXPECT_THAT(codes(), ElementsAre("warning unclosed_shard 1", "warning gpu_tail_lost 1"));
  EXPECT_THAT(rows("SELECT message FROM diagnostic WHERE code = 'gpu_tail_lost'")[0],
              ::testing::HasSubstr("is 0.3 s before the last event"));
}

// GPU timers of five operations: valid; an impossible end; an impossible start; two pairs that no clock can show, which
// would put the run before the machine's start or make it centuries long.
TEST_F(Ingest, ImpossibleTimersOfAGpuPlaceNothing) {
  TrainingShard t(0, 1);
  test::add_communicator(t.shard, 1, 0xabc, 2);
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max(), late = std::uint64_t{1} << 61;
  const std::pair<std::uint64_t, std::uint64_t> timers[] = {
      {500, 550}, {500, most}, {std::uint64_t{1} << 63, most}, {500, late}, {500, late + late - 1}};
  t.begin_step(0, 1000);
  for (std::uint64_t i = 0; i < std::size(timers); ++i) {
    const auto at_ns = static_cast<std::int64_t>(1100 + 100 * i);
    t.launch(i, static_cast<std::int32_t>(i), 40, at_ns);
    test::add_operation(t.shard, {.tid = TrainingShard::main_tid,
                                  .time_ns = at_ns + 10,
                                  .operation = i + 1,
                                  .group = i + 1,
                                  .sequence = i,
                                  .count = 10});
    test::add_channel(t.shard, i + 1, i + 1, timers[i].first, timers[i].second, at_ns + 20, at_ns + 70);
  }
  t.pop(1700);
  load({&t}, ddp(1));
  EXPECT_THAT(rows("SELECT sequence, start_ns, end_ns FROM collective ORDER BY 1"),
              ElementsAre("0|1120|1170", "1|-|-", "2|-|-", "3|-|-", "4|-|-"));
  EXPECT_THAT(codes(), testing::Contains("error impossible_times 5"));
}

// A schema with another field width, and impossible replica numbers.
TEST_F(Ingest, AReplicasImpossibleNumberIsUnreadable) {
  TrainingShard t(0, 1);
  constexpr std::uint64_t wide_id = std::uint64_t{1} << 33;
  t.shard.schema(TrainingShard::domain, wide_id, "ddpprof.replica", {{"replica", 17, 0}});
  t.begin_step(0, 1000);
  for (const std::int64_t number : {std::numeric_limits<std::int64_t>::max(), std::int64_t{-1}}) {
    auto event = t.shard.event(1100, "replica_forward", TrainingShard::domain);
    event.payload_kind = trace::PayloadKind::extended;
    event.payload = wide_id;
    t.shard.add(200, trace::RecordType::push, event, test::ShardBuilder::extended(number));
    t.shard.pop(200, 1200, TrainingShard::domain);
  }
  t.pop(1700);
  load({&t}, ddp(1));
  EXPECT_THAT(rows("SELECT DISTINCT lane FROM phase WHERE name = 'replica_forward'"), ElementsAre("1"));
  EXPECT_THAT(codes(), ElementsAre("error payload_unreadable 2"));
}

}  // namespace
}  // namespace ddpprof::ingest
