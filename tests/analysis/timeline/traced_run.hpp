// A database whose ddp N = 2 measurement has raw events, a clock that is 5 µs behind, and a collective that never
// ended.
//
// On top of SyntheticRun (tests/analysis/report/synthetic_run.hpp). Measurement 2, shard 2 (rank 0) keeps: push/pop
// ranges of thread 77 ("main") nested two deep, two start/end ranges that overlap, one range that never ended, a mark;
// a kernel and a copy on GPU 0 stream 7; a runtime call with a driver call inside. Shard 3 (rank 1) keeps one range.
// Bucket 0's all-reduce of step 3 never ends on rank 1.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/analysis/report/synthetic_run.hpp"

namespace ddpprof::test {

inline constexpr std::int64_t traced_measurement = 2;

class TracedFile {
 public:
  TracedFile() {
    static int number = 0;
    folder_ = std::filesystem::temp_directory_path() /
              ("ddpprof_timeline_test_" + std::to_string(getpid()) + "_" + std::to_string(number++));
    std::filesystem::create_directories(folder_);
    path = folder_ / "run.db";
    SyntheticRun run(path);
    run.fill();
    store::Database& db = run.database;
    db.sql().exec("UPDATE shard SET raw_kept = 1 WHERE id IN (2, 3)");
    db.sql().exec(
        "UPDATE collective SET end_ns = NULL, transfer_ns = NULL, skew_ns = NULL "
        "WHERE shard_id = 3 AND sequence = 6");
    store::StringInterner strings(db);
    const std::int64_t outer = strings.intern("Outer"), inner = strings.intern("inner");
    store::Inserter<store::RangeRow> ranges(db);
    const std::int64_t t = 1000 * ms;
    ranges.insert({2, 77, inner, {}, store::RangeKind::push_pop, 1, t + 100, t + 200, std::string_view(R"({"a":3})")});
    ranges.insert({2, 77, inner, {}, store::RangeKind::push_pop, 1, t + 300, t + 500, {}});
    ranges.insert({2, 77, outer, {}, store::RangeKind::push_pop, 0, t, t + 1000, std::int64_t{5}});
    ranges.insert({2, 77, inner, {}, store::RangeKind::start_end, 0, t + 150, t + 2000, {}});
    ranges.insert({2, 77, inner, {}, store::RangeKind::start_end, 0, t + 160, t + 400, {}});
    ranges.insert({2, 77, outer, {}, store::RangeKind::push_pop, 0, t + 3000, {}, {}});
    ranges.insert({2, 77, inner, {}, store::RangeKind::mark, 0, t + 4000, t + 4000, {}});
    ranges.insert({3, 88, outer, {}, store::RangeKind::push_pop, 0, t + 10, t + 20, {}});
    ranges.insert({1, 99, outer, {}, store::RangeKind::push_pop, 0, t, t + 1, {}});  // another measurement's
    store::Inserter<store::ThreadRow>(db).insert({2, 77, "main"});
    const std::int64_t kernel = strings.intern("_Z5saxpyfPf");
    store::Inserter<store::KernelRow>(db).insert({2, kernel, 0, 7, 1, t + 10, t + 20, 8, 128, 32, 0});
    store::Inserter<store::MemcpyRow>(db).insert({2, "host_to_device", 0, 7, 2, t + 20, t + 35, 4096});
    store::Inserter<store::ApiCallRow>(db).insert({2, "driver", 5, 77, 1, t + 6, t + 8});
    store::Inserter<store::ApiCallRow>(db).insert({2, "runtime", 211, 77, 1, t + 5, t + 9});
  }
  ~TracedFile() { std::filesystem::remove_all(folder_); }
  TracedFile(const TracedFile&) = delete;
  TracedFile& operator=(const TracedFile&) = delete;

  std::filesystem::path path;

 private:
  std::filesystem::path folder_;
};

}  // namespace ddpprof::test
