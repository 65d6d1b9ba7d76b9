// Speed of loading a trace database: rows per second with the real schema, and complete shards through ingestion.
// Run: build/<preset>/bin/benchmark_store. The target is 0.4 million rows per second.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <vector>

#include "analysis/ingest/ingest.hpp"
#include "tests/analysis/ingest/training_shard.hpp"
#include "tracer/store/rows/inserter.hpp"

namespace ddpprof {
namespace {

using test::TemporaryFolder;

// Per step of a 161-parameter model (ResNet-50) on one rank: what ingestion with raw events writes, by table.
constexpr int gradients = 161, buckets = 5, phases = 6;

void LoadMixedRows(benchmark::State& state) {
  const auto steps = static_cast<std::int64_t>(state.range(0));
  std::int64_t rows = 0;
  for (auto _ : state) {
    state.PauseTiming();
    TemporaryFolder folder;
    state.ResumeTiming();
    store::Database database = store::Database::create(folder / "load.db");
    {
      store::BulkLoad load(database);
      store::StringInterner strings(database);
      store::Inserter<store::StepRow> step_rows(database);
      store::Inserter<store::PhaseRow> phase_rows(database);
      store::Inserter<store::GradReadyRow> grad_rows(database);
      store::Inserter<store::CollectiveRow> collective_rows(database);
      store::Inserter<store::RangeRow> range_rows(database);
      const std::int64_t name = strings.intern("grad_ready"), domain = strings.intern("ddpprof");
      for (std::int64_t s = 0; s < steps; ++s) {
        store::StepRow step;
        step.shard_id = 1;
        step.step = s;
        const std::int64_t id = step_rows.insert(step);
        for (int i = 0; i < phases; ++i) phase_rows.insert({id, "forward", 0, 100 * i, 100, {}});
        for (int i = 0; i < gradients; ++i) {
          grad_rows.insert({id, i, 1000 + i});
          const std::int64_t time_ns = 1'000'000'000'000 + 300'000'000 * s + 1000 * i;
          range_rows.insert({1, 4242, name, domain, store::RangeKind::mark, 3, time_ns, time_ns, std::int64_t{i}});
        }
        for (int i = 0; i < buckets; ++i) {
          const std::int64_t t = 1'000'000'000'000 + 300'000'000 * s + 1000 * i;
          collective_rows.insert(
              {1, id, -12345, buckets * s + i, "all_reduce", i, 25 << 20, t, t + 1, t + 2, t + 3, 4, 5});
          range_rows.insert(
              {1, 4243, name, domain, store::RangeKind::start_end, 0, t + 2, t + 3,
               std::string_view(
                   R"({"communicator":18364758544493064720,"sequence":12,"bytes":26214400,"op":0,"bucket":3})")});
        }
        for (int i = 0; i < phases; ++i)
          range_rows.insert(
              {1, 4242, name, domain, store::RangeKind::push_pop, 1, 300'000'000 * s, 300'000'000 * s + 1, {}});
        rows += 1 + 2 * phases + 2 * gradients + 2 * buckets;
      }
      load.commit();
    }
    database.finish_load();  // indexes and the disk's sync are part of the load
  }
  state.counters["rows/s"] = benchmark::Counter(static_cast<double>(rows), benchmark::Counter::kIsRate);
}
BENCHMARK(LoadMixedRows)->Arg(3000)->Unit(benchmark::kMillisecond)->UseRealTime();

void IngestShard(benchmark::State& state) {
  const auto policy = static_cast<ingest::RawPolicy>(state.range(0));
  TemporaryFolder folder;
  test::TrainingShard shard(0, 1);
  shard.shard.header.chunk_capacity = 1u << 20;
  for (std::int64_t s = 0; s < 3000; ++s) {
    const std::int64_t base = 1'000'000'000'000 + 1'000'000 * s;
    shard.begin_step(s, base);
    shard.phase("forward", base, base + 1000);
    for (int i = 0; i < gradients; ++i) shard.grad(i, base + 1001 + i);
    for (int i = 0; i < buckets; ++i)
      shard.collective(static_cast<std::uint64_t>(buckets * s + i), i, 25 << 20, base + 1100 + 10 * i,
                       base + 1101 + 10 * i, base + 1109 + 10 * i);
    shard.phase("backward", base + 1000, base + 2000);
    shard.phase("optimizer", base + 2000, base + 3000);
    shard.pop(base + 3000);
  }
  const std::vector<std::filesystem::path> paths = {shard.shard.write(folder / "shard")};
  std::int64_t events = 0;
  for (auto _ : state) {
    store::Database database = store::Database::create(folder / "load.db", store::Replace::yes);
    events += ingest::ingest_measurement(database, {}, paths, policy).events;
    database.finish_load();
  }
  state.counters["events/s"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}
BENCHMARK(IngestShard)
    ->ArgName("raw(0=all,2=none)")
    ->Arg(static_cast<int>(ingest::RawPolicy::all))
    ->Arg(static_cast<int>(ingest::RawPolicy::none))
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace ddpprof
