// The memory of a rank's devices, from allocator events.
#include <gmock/gmock.h>

#include <tuple>

#include "tests/analysis/import/kineto/trace_text.hpp"
#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {
namespace {

using testing::ElementsAre;
using Row = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;  // rank, device, held, peak

std::string memory_event(int at_us, int device_type, int device, const std::string& allocated) {
  return R"({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 4711, "tid": 4711, "ts": )" +
         std::to_string(at_us) + R"(, "args": {"Total Reserved": 0, "Total Allocated": )" + allocated +
         R"(, "Bytes": 512, "Device Id": )" + std::to_string(device) + R"(, "Device Type": )" +
         std::to_string(device_type) + R"(, "Addr": 139637976727552}})";
}

std::vector<Row> rows_of(const std::vector<std::string>& events) {
  const Folder folder;
  TraceText trace = sound_trace(1, 2);  // steps from 1000000 us to 1003000 us
  trace.events.insert(trace.events.end(), events.begin(), events.end());
  EXPECT_EQ(import_files(folder, {folder.write("rank1.json", trace.text())}).error, "");
  store::Database database = store::Database::open_read(folder.path() / "imported.db");
  SQLite::Statement query(database.sql(), "SELECT rank, device, held_bytes, peak_bytes FROM memory ORDER BY device");
  std::vector<Row> rows;
  while (query.executeStep())
    rows.emplace_back(query.getColumn(0).getInt64(), query.getColumn(1).getInt64(), query.getColumn(2).getInt64(),
                      query.getColumn(3).getInt64());
  return rows;
}

TEST(Memory, ThePeakOfTheStepsAndWhatWasHeldAfterThem) {
  EXPECT_THAT(rows_of({memory_event(999'000, 1, 3, "9000"), memory_event(999'500, 1, 3, "2000"),
                       memory_event(1'001'000, 1, 3, "7000"), memory_event(1'002'900, 1, 3, "2500"),
                       memory_event(1'003'100, 1, 3, "99000")}),
              ElementsAre(Row{1, 0, 2500, 7000}));
}

TEST(Memory, WhatIsHeldThroughoutCounts) {
  EXPECT_THAT(rows_of({memory_event(999'500, 1, 0, "2000"), memory_event(1'001'000, 1, 0, "1500")}),
              ElementsAre(Row{1, 0, 1500, 2000}));
}

TEST(Memory, ARanksOwnDeviceIsTheFullest) {
  EXPECT_THAT(rows_of({memory_event(1'001'000, 1, 0, "512"), memory_event(1'001'100, 1, 1, "8000"),
                       memory_event(1'001'200, 1, 2, "1024")}),
              ElementsAre(Row{1, 0, 8000, 8000}, Row{1, 1, 512, 512}, Row{1, 2, 1024, 1024}));
}

TEST(Memory, OfACpuOrWithoutATotalThereIsNone) {
  EXPECT_THAT(rows_of({memory_event(1'001'000, 0, -1, "4096"), memory_event(1'001'000, 1, 0, "-5"),
                       memory_event(1'001'000, 1, 0, "9223372036854775807")}),
              ElementsAre());
}

}  // namespace
}  // namespace ddpprof::import
