// What is exported in Nsight Systems' shape comes back: row by row by what the file holds beside it, and in its figures
// when it is read as anybody's.
#include <gmock/gmock.h>

#include <cmath>
#include <utility>

#include "analysis/import/load/import.hpp"
#include "analysis/import/own/nsys.hpp"
#include "tests/analysis/export/nsys_recorded.hpp"
#include "tests/analysis/import/own/round_trip.hpp"

namespace ddpprof::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class NsysRestore : public RoundTrip {
 protected:
  fs::path exported(store::Database& database, const std::string& name) const {
    export_::export_nsys(database, folder_ / name);
    return folder_ / name;
  }
  store::Database restored(const std::vector<fs::path>& files, const std::string& name = "restored.db") const {
    store::Database database = empty(name);
    import::restore_nsys(database, files);
    database.finish_load();
    return database;
  }
  std::vector<fs::path> parts(store::Database& database, const fs::path& folder) const {
    std::vector<fs::path> files;
    for (const export_::NsysPart& part : export_::nsys_parts(database)) files.push_back(folder / part.file);
    return files;
  }
  // Into a database that measurement 2 alone is left of.
  static void keep_second(store::Database& database) {
    SQLite::Database& sql = database.sql();
    for (const char* table : {"phase", "grad_ready"})
      sql.exec(std::string("DELETE FROM ") + table +
               " WHERE step_id NOT IN (SELECT st.id FROM step st JOIN shard sh ON sh.id = st.shard_id WHERE "
               "sh.measurement_id = 2)");
    for (const store::Table& table : store::tables())
      for (const store::Column& column : table.columns)
        if (column.name == "shard_id")
          sql.exec("DELETE FROM \"" + std::string(table.name) +
                   "\" WHERE shard_id NOT IN (SELECT id FROM shard WHERE measurement_id = 2)");
    sql.exec("DELETE FROM shard WHERE measurement_id <> 2; DELETE FROM measurement WHERE id <> 2");
  }
};

TEST_F(NsysRestore, EveryRowOfEveryTableComesBackInItsOrder) {
  store::Database database = filled(folder_ / "source.db");
  keep_second(database);
  const fs::path file = exported(database, "sole.sqlite");
  EXPECT_EQ(rows(file, "SELECT COUNT(*) FROM NVTX_EVENTS WHERE ddpprof_start_ns NOT NULL"),
            rows(folder_ / "source.db", "SELECT COUNT(*) FROM range"))
      << "both clocks drift";
  store::Database again = restored({file});
  expect_equal(again, database, true);
  again.check();
}

TEST_F(NsysRestore, ExportedAgainItIsTheSameFile) {
  for (const bool drifts : {true, false}) {
    store::Database database = filled(folder_ / "source.db");
    keep_second(database);
    if (!drifts) database.sql().exec("UPDATE shard SET clock_drift_ppb = 0");
    const fs::path file = exported(database, "sole.sqlite");
    if (!drifts) {
      EXPECT_THAT(rows(file, "SELECT COUNT(ddpprof_start_ns) FROM NVTX_EVENTS"), ElementsAre("0"));
    }
    store::Database again = restored({file});
    const fs::path second = exported(again, "second.sqlite");
    EXPECT_TRUE(bytes_of(file) == bytes_of(second)) << drifts;
  }
}

TEST_F(NsysRestore, SeveralMeasurementsComeBackTogetherOrAlone) {
  store::Database database = filled(folder_ / "source.db");
  database.sql().exec("INSERT INTO diagnostic VALUES (NULL, NULL, 'info', 'of the whole file', 1, 'what', 'do')");
  const fs::path folder = exported(database, "several");
  const std::vector<fs::path> files = parts(database, folder);
  ASSERT_EQ(files.size(), 5U);
  store::Database again = restored(files);
  // They rest on all measurements, of which a file has one.
  database.sql().exec("DELETE FROM fit; DELETE FROM prediction; DELETE FROM learning_rate");
  expect_equal(again, database, false);  // a table's rows are in the order of their measurements
  const std::vector<fs::path> second = parts(again, exported(again, "second"));
  for (std::size_t i = 0; i < files.size(); ++i) EXPECT_TRUE(bytes_of(files[i]) == bytes_of(second[i])) << files[i];
  for (std::size_t i = 0; i < files.size(); ++i) {
    store::Database one = restored({files[i]}, "one.db");
    EXPECT_TRUE(bytes_of(files[i]) == bytes_of(exported(one, "one.sqlite"))) << files[i];
    SQLite::Statement measurement(one.sql(), "SELECT MIN(id), COUNT(*) FROM measurement");
    ASSERT_TRUE(measurement.executeStep());
    EXPECT_EQ(measurement.getColumn(0).getInt(), static_cast<int>(i) + 1) << "under the number that it had";
    EXPECT_EQ(measurement.getColumn(1).getInt(), 1);
  }
}

TEST_F(NsysRestore, ThreadsAndProcessesOfStrangeNumbersComeBack) {
  store::Database database = recorded_training(folder_ / "source.db");
  database.sql().exec(
      "UPDATE shard SET pid = 5000000000; UPDATE range SET tid = -3 WHERE depth = 1;"
      "UPDATE api_call SET tid = 140000000000000 WHERE cbid = 211");
  const fs::path file = exported(database, "strange.sqlite");
  store::Database again = restored({file});
  expect_equal(again, database, true);
}

TEST_F(NsysRestore, TheSignOfAZeroComesBack) {
  store::Database database = recorded_training(folder_ / "source.db");
  SQLite::Statement set(database.sql(), "UPDATE range SET payload = ?2 WHERE rowid = ?1");
  for (const auto& [row, payload] : {std::pair{1, -0.0}, {2, 0.0}}) {
    set.reset();
    set.bind(1, row);
    set.bind(2, payload);
    set.exec();
  }
  const fs::path file = exported(database, "zero.sqlite");
  store::Database again = restored({file});
  expect_equal(again, database, true);
  SQLite::Statement zero(again.sql(), "SELECT payload FROM range WHERE rowid = 1");
  ASSERT_TRUE(zero.executeStep());
  EXPECT_TRUE(std::signbit(zero.getColumn(0).getDouble()));
}

TEST_F(NsysRestore, FilesOfDifferentDatabasesAndEditedOnesAreRefused) {
  store::Database database = recorded_training(folder_ / "source.db");
  const fs::path file = exported(database, "one.sqlite");
  EXPECT_TRUE(import::is_own_nsys_export(file));
  EXPECT_FALSE(import::is_own_nsys_export(folder_ / "source.db"));
  const auto refused = [&](const std::vector<fs::path>& files) {
    store::Database into = empty();
    std::string why;
    try {
      import::restore_nsys(into, files);
    } catch (const import::OwnExportError& error) {
      why = error.what();
    }
    for (const auto& [table, found] : contents(into, true)) EXPECT_TRUE(why.empty() || found.empty()) << table;
    return why;
  };
  database.sql().exec("UPDATE string SET value = 'other' WHERE id = 1");
  const fs::path copied = folder_ / "copied.sqlite";
  fs::copy_file(file, copied);
  for (const fs::path& twice : {file, copied})
    EXPECT_THAT(refused({file, twice}), HasSubstr("holds measurement 1, as " + file.string() + " does: the same file"));
  const auto edited = [&](const std::string& sql) {
    const fs::path copy = folder_ / "edited.sqlite";
    fs::copy_file(file, copy, fs::copy_options::overwrite_existing);
    SQLite::Database(copy.string(), SQLite::OPEN_READWRITE).exec(sql);
    return refused({copy});
  };
  EXPECT_THAT(edited("DELETE FROM StringIds WHERE id = 1"), HasSubstr("rows of table string (expected "));
  EXPECT_THAT(edited("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 9999, mangledName = NULL WHERE rowid = 1"),
              HasSubstr("name_id 9999 of table kernel refers to no row of table string"));
  EXPECT_THAT(edited("DROP TABLE DDPPROF_step"), HasSubstr("DDPPROF_step"));
  EXPECT_THAT(edited("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = 'x'"), HasSubstr("table kernel, row 1: "));
  EXPECT_THAT(edited("UPDATE DDPPROF_EXPORT SET value = 999 WHERE name = 'schema_version'"), HasSubstr("999"));
  EXPECT_THAT(edited("UPDATE DDPPROF_EXPORT SET value = 7 WHERE name = 'format'"), HasSubstr("format 7"));
  EXPECT_THAT(edited("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET ddpprof_shard = 99 WHERE rowid = 5"),
              HasSubstr("table CUPTI_ACTIVITY_KIND_KERNEL, row 5: ddpprof_shard 99 is no row of DDPPROF_shard"));
  EXPECT_THAT(edited("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET ddpprof_shard = NULL WHERE rowid = 2"),
              HasSubstr("table CUPTI_ACTIVITY_KIND_RUNTIME, row 2: ddpprof_shard NULL is no row"));
  EXPECT_THAT(edited("UPDATE CUPTI_ACTIVITY_KIND_MEMSET SET ddpprof_shard = 98"),
              HasSubstr("table CUPTI_ACTIVITY_KIND_MEMSET, row 1: ddpprof_shard 98 is no row"));
  EXPECT_THAT(edited("UPDATE NVTX_EVENTS SET ddpprof_shard = NULL WHERE rowid = 3"),
              HasSubstr("6 rows of table range (expected 7, as DDPPROF_EXPORT says)"));
  EXPECT_THAT(edited("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid % 2 = 0"),
              HasSubstr("3 rows of table kernel (expected 5, as DDPPROF_EXPORT says)"));
  EXPECT_THAT(edited("DELETE FROM DDPPROF_step WHERE rowid = 1"), HasSubstr("1 rows of table step (expected 2"));
  EXPECT_THAT(edited("DELETE FROM DDPPROF_string"), HasSubstr("0 rows of table DDPPROF_string (expected 1"));
  EXPECT_THAT(edited("DELETE FROM DDPPROF_EXPORT WHERE name = 'rows memcpy'"), HasSubstr("has no row `rows memcpy`"));
  // A row that this program makes of a part of a database, and leaves out of its exports.
  const std::string part_row =
      "UPDATE DDPPROF_EXPORT SET value = value + 1 WHERE name = 'rows meta';"
      "INSERT INTO DDPPROF_meta VALUES ('nsys_part_of', '1 3')";
  EXPECT_THAT(edited(part_row), HasSubstr("table meta, row 1: key nsys_part_of is a row that exports leave out"));
  EXPECT_THAT(edited(part_row + "; UPDATE DDPPROF_EXPORT SET value = 3 WHERE name = 'measurements'"),
              HasSubstr("table meta, row 1: key nsys_part_of is a row that exports leave out"));
  EXPECT_EQ(edited("SELECT 1"), "");
}

// More than 2^63 ns from the others, as damage may have it: the sum that would restore it does not fit.
TEST_F(NsysRestore, ATimeTooFarFromTheOthersComesBack) {
  store::Database database = recorded_training(folder_ / "source.db");
  database.sql().exec("UPDATE kernel SET start_ns = -9223372036854775807 WHERE rowid = 2");
  const fs::path file = exported(database, "far.sqlite");
  store::Database again = restored({file});
  expect_equal(again, database, true);
}

// Measurement 1 of one run and measurement 2 of another fit together row by row: their numbers do not meet.
TEST_F(NsysRestore, FilesOfDifferentRunsAreNotMixed) {
  store::Database first = filled(folder_ / "first.db"), second = filled(folder_ / "second.db");
  second.sql().exec("UPDATE measurement SET started_utc_ns = started_utc_ns + 1 WHERE id = 1");
  const std::vector<fs::path> ours = parts(first, exported(first, "ours"));
  const std::vector<fs::path> theirs = parts(second, exported(second, "theirs"));
  store::Database into = empty("mixed.db");
  try {
    import::restore_nsys(into, std::vector{ours[0], theirs[1]});
    FAIL() << "mixed";
  } catch (const import::OwnExportError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr(ours[0].string() + " and " + theirs[1].string() + " are exports of different databases"));
  }
  // What was restored of one file and exported again is still of its database.
  store::Database one = restored({ours[1]}, "one.db");
  const fs::path again = exported(one, "again.sqlite");
  store::Database two = restored({ours[0], again}, "two.db");
  SQLite::Statement measurements(two.sql(), "SELECT COUNT(*) FROM measurement");
  ASSERT_TRUE(measurements.executeStep());
  EXPECT_EQ(measurements.getColumn(0).getInt(), 2);
}

// As the reader of Nsight Systems' files sees it, which knows nothing of our tables.
TEST_F(NsysRestore, ReadAsAnybodysTheFiguresAreTheSame) {
  store::Database database = recorded_training(folder_ / "source.db");
  const fs::path file = exported(database, "training.sqlite");
  store::Database read = empty("read.db");
  import::ImportOptions options;
  options.files = {file};
  options.temporary_folder = folder_;
  const import::ImportResult result = import::import_traces(read, options);
  EXPECT_EQ(result.ranks, 2);
  EXPECT_EQ(result.steps, 2);
  EXPECT_THAT(rows(folder_ / "read.db",
                   "SELECT sh.rank, st.kind, COUNT(*) FROM step st JOIN shard sh ON sh.id = st.shard_id GROUP BY 1, 2"),
              ElementsAre("0|measured|1", "1|measured|1"));
  // Device 0: compute 1000 + 200 + 1000, NCCL 3000 of which 1000 lie beside compute.
  EXPECT_THAT(rows(folder_ / "read.db",
                   "SELECT sh.rank, d.compute_ns, d.communication_ns, d.overlapped_ns, d.kernels, d.collective_kernels "
                   "FROM device_time d JOIN shard sh ON sh.id = d.shard_id WHERE d.name = 'all' ORDER BY 1"),
              ElementsAre("0|2200|3000|1000|3|1", "1|1000|0|0|1|0"));
  EXPECT_THAT(rows(folder_ / "read.db",
                   "SELECT s.value, SUM(k.count), SUM(k.total_ns) FROM kernel_summary k JOIN string s ON s.id = "
                   "k.name_id WHERE k.kind IN ('compute', 'communication') GROUP BY 1 ORDER BY 1"),
              ElementsAre("add(float*)|4|3200", std::string(nccl_kernel) + "|1|3000"));
}

}  // namespace
}  // namespace ddpprof::test
