// A training of two ranks on two devices, event by event, so that the results of queries can be computed by hand.
//
// Rank 0: process 100, device 0, clock of the export. Rank 1: process 101, device 1, a clock that is 5000 ns behind;
// its events lie 100 ns later than rank 0's. Times below are ns after the first event. Rank 0:
//   thread 100  step 0 [0, 10000) around forward [1000, 4000) and backward [4000, 9000); say "it's"… [200, 300);
//               in the domain ddpprof all_reduce [5000, 7000), start/end, 4096 bytes; the mark loss at 9500: 1.5
//   calls       cudaMemcpyAsync [1100, 1200) #3, cudaLaunchKernel [1500, 1600) #1 and [4500, 4600) #2,
//               cuLaunchKernel [4520, 4580) #2, one of number 999 [8000, 8100)
//   device 0    stream 7: copy to the device [1300, 1400) 4096 bytes #3, memset [1450, 1460) 64 bytes,
//               add [2000, 3000) #1, add [3500, 3700), add [6000, 7000); stream 20: NCCL [5000, 8000) #2
// Rank 1: step 0 [100, 10100), cudaLaunchKernel [1600, 1700) #1, add [2100, 3100) #1 on device 1, stream 7.
#pragma once

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/analysis/report/synthetic_run.hpp"

namespace ddpprof::test {

inline constexpr const char* add_mangled = "_Z3addPf";
inline constexpr const char* nccl_kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

inline void record_training(SyntheticRun& run) {
  constexpr std::int64_t t = 1'700'000'000'000'000'000, behind = 5000;
  store::BulkLoad load(run.database);
  store::MeasurementRow row = train("ddp", 2);
  row.device = "cuda";
  row.backend = "nccl";
  row.versions = R"({"device":"Some GPU","driver":"580.95"})";
  const std::int64_t measurement = run.measurement(row);
  const std::int64_t first = run.shard(measurement, 0), second = run.shard(measurement, 1, behind);
  run.database.sql().exec("UPDATE shard SET raw_kept = 1");
  const std::int64_t step = run.step(first, 0, t, 10'000, 2200, 3000, 1000, 0);
  run.step(second, 0, t - behind + 100, 10'000, 1000, 0, 0, 0);
  run.collective(first, step, 0, 0, 4096, t + 4500, t + 5000, t + 8000, 3000);
  store::StringInterner strings(run.database);
  const std::int64_t add = strings.intern(add_mangled), nccl = strings.intern(nccl_kernel);
  const std::int64_t step_name = strings.intern("step 0"), forward = strings.intern("forward");
  const std::int64_t backward = strings.intern("backward"), odd = strings.intern("say \"it's\"\n\xff");
  const std::int64_t domain = strings.intern("ddpprof");
  using enum store::RangeKind;
  store::Inserter<store::RangeRow> ranges(run.database);
  ranges.insert({first, 100, step_name, {}, push_pop, 0, t, t + 10'000, {}});
  ranges.insert({first, 100, odd, {}, push_pop, 1, t + 200, t + 300, {}});
  ranges.insert({first, 100, forward, {}, push_pop, 1, t + 1000, t + 4000, std::int64_t{7}});
  ranges.insert({first, 100, backward, {}, push_pop, 1, t + 4000, t + 9000, {}});
  ranges.insert({first, 100, strings.intern("all_reduce"), domain, start_end, 0, t + 5000, t + 7000,
                 std::string_view(R"({"bytes":4096})")});
  ranges.insert({first, 100, strings.intern("loss"), domain, mark, 0, t + 9500, t + 9500, 1.5});
  ranges.insert({second, 101, step_name, {}, push_pop, 0, t - behind + 100, t - behind + 10'100, {}});
  store::Inserter<store::ThreadRow>(run.database).insert({first, 100, "main \"thread\""});
  store::Inserter<store::ApiCallRow> calls(run.database);
  calls.insert({first, "runtime", 41, 100, 3, t + 1100, t + 1200});
  calls.insert({first, "runtime", 211, 100, 1, t + 1500, t + 1600});
  calls.insert({first, "runtime", 211, 100, 2, t + 4500, t + 4600});
  calls.insert({first, "driver", 307, 100, 2, t + 4520, t + 4580});
  calls.insert({first, "runtime", 999, 100, -1, t + 8000, t + 8100});
  calls.insert({second, "runtime", 211, 101, 1, t - behind + 1600, t - behind + 1700});
  store::Inserter<store::MemcpyRow> copies(run.database);
  copies.insert({first, "host_to_device", 0, 7, 3, t + 1300, t + 1400, 4096});
  copies.insert({first, "memset", 0, 7, -1, t + 1450, t + 1460, 64});
  copies.insert({second, "peer", 1, 7, -1, t - behind + 3600, t - behind + 3800, 512});
  store::Inserter<store::KernelRow> kernels(run.database);
  kernels.insert({first, add, 0, 7, 1, t + 2000, t + 3000, 8, 128, 32, 1024});
  kernels.insert({first, add, 0, 7, -1, t + 3500, t + 3700, 8, 128, 32, 0});
  kernels.insert({first, nccl, 0, 20, 2, t + 5000, t + 8000, 24, 512, 96, 0});
  kernels.insert({first, add, 0, 7, -1, t + 6000, t + 7000, 8, 128, 32, 0});
  kernels.insert({second, add, 1, 7, 1, t - behind + 2100, t - behind + 3100, 8, 128, 32, 0});
  load.commit();
}

inline store::Database recorded_training(const std::filesystem::path& path) {
  SyntheticRun run(path);
  record_training(run);
  run.database.finish_load();
  return std::move(run.database);
}

// Incomplete exports left in a folder.
inline std::vector<std::string> left_behind(const std::filesystem::path& folder) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename().string().find(".partial") != std::string::npos) found.push_back(entry.path());
  return found;
}

// Rows of a query on any SQLite file, as "a|b|c".
inline std::vector<std::string> rows(const std::filesystem::path& file, const std::string& query) {
  SQLite::Database sql(file.string(), SQLite::OPEN_READONLY);
  SQLite::Statement statement(sql, query);
  std::vector<std::string> found;
  while (statement.executeStep()) {
    std::string row;
    for (int i = 0; i < statement.getColumnCount(); ++i)
      row += (i > 0 ? "|" : "") +
             (statement.getColumn(i).isNull() ? std::string("NULL") : statement.getColumn(i).getString());
    found.push_back(row);
  }
  return found;
}

}  // namespace ddpprof::test
