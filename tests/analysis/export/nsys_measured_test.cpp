// Recorded traces imported and exported: queries give the same results for the recorded file and for the export.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "analysis/export/export.hpp"
#include "analysis/import/load/import.hpp"
#include "tests/analysis/export/nsys_queries.hpp"
#include "tests/analysis/export/nsys_recorded.hpp"

namespace ddpprof {
namespace {

namespace fs = std::filesystem;
using test::rows;

class NsysMeasured : public testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("DDPPROF_DATA_DIR");
    if (!data || !fs::exists(fs::path(data) / "traces")) GTEST_SKIP() << "DDPPROF_DATA_DIR holds no traces";
    traces_ = fs::path(data) / "traces";
    folder_ = fs::temp_directory_path() / ("ddpprof_nsys_measured_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  fs::path imported(const fs::path& trace, const std::string& name) const {
    store::Database database = store::Database::create(folder_ / name, store::Replace::yes);
    import::ImportOptions options;
    options.files = {trace};
    options.temporary_folder = folder_;
    import::import_traces(database, options);
    database.finish_load();
    return folder_ / name;
  }
  fs::path exported(const fs::path& file, const std::string& name) const {
    store::Database database = store::Database::open_read(file);
    export_::export_nsys(database, folder_ / name);
    return folder_ / name;
  }

  fs::path traces_, folder_;
};

TEST_F(NsysMeasured, QueriesHaveTheAnswersThatTheRecordedFileGives) {
  const fs::path recorded = traces_ / "two_gpus_nsys.sqlite";
  const fs::path ours = exported(imported(recorded, "two.db"), "two.sqlite");
  for (const char* query : test::ask::all) {
    const std::vector<std::string> expected = rows(recorded, query), found = rows(ours, query);
    EXPECT_FALSE(expected.empty()) << query;
    EXPECT_EQ(found, expected) << query;
  }
  // On this machine no computation ran beside NCCL.
  EXPECT_EQ(rows(ours, test::ask::nccl_beside_compute), rows(recorded, test::ask::nccl_beside_compute));
  // Times are unchanged, and processes and threads keep their numbers.
  const char* moments =
      "SELECT k.start - f.start, k.end - f.start, k.correlationId, k.globalPid, k.contextId FROM "
      "CUPTI_ACTIVITY_KIND_KERNEL k, (SELECT MIN(start) AS start FROM NVTX_EVENTS) f ORDER BY 1, 4, 3";
  EXPECT_EQ(rows(ours, moments), rows(recorded, moments));
  const char* threads = "SELECT globalTid, COUNT(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME GROUP BY 1 ORDER BY 1";
  EXPECT_EQ(rows(ours, threads), rows(recorded, threads));
}

constexpr const char* device_times =
    "SELECT sh.rank, d.name, d.span_ns, d.compute_ns, d.communication_ns, d.memory_ns, d.overlapped_ns, d.busy_ns, "
    "d.kernels, d.collective_kernels, d.copies FROM device_time d JOIN shard sh ON sh.id = d.shard_id ORDER BY 1, "
    "d.start_ns, 2";
// Compares without names: a trace may have mangled names, and an export has demangled ones.
constexpr const char* kernel_totals =
    "SELECT sh.rank, k.kind, k.count, k.total_ns, k.minimum_ns, k.maximum_ns FROM kernel_summary k JOIN shard sh ON "
    "sh.id = k.shard_id WHERE k.kind IN ('compute', 'communication') ORDER BY 1, 2, 3, 4, 5, 6";
constexpr const char* steps =
    "SELECT sh.rank, st.step, st.duration_ns, st.compute_ns, st.communication_ns, st.overlapped_ns FROM step st "
    "JOIN shard sh ON sh.id = st.shard_id ORDER BY 1, 2";

TEST_F(NsysMeasured, ReadAgainAsAnybodysExportTheFiguresAreTheSame) {
  for (const char* trace : {"two_gpus_nsys.sqlite", "a100_ddp_rank0of2.json.gz"}) {
    const fs::path database = imported(traces_ / trace, "first.db");
    const fs::path again = imported(exported(database, "export.sqlite"), "again.db");
    EXPECT_FALSE(rows(database, device_times).empty());
    EXPECT_EQ(rows(again, device_times), rows(database, device_times)) << trace;
    EXPECT_FALSE(rows(database, kernel_totals).empty());
    EXPECT_EQ(rows(again, kernel_totals), rows(database, kernel_totals)) << trace;
    EXPECT_EQ(rows(again, steps), rows(database, steps)) << trace;
    EXPECT_EQ(rows(again, "SELECT COUNT(*) FROM kernel"), rows(database, "SELECT COUNT(*) FROM kernel"));
    fs::remove(folder_ / "export.sqlite");
  }
}

}  // namespace
}  // namespace ddpprof
