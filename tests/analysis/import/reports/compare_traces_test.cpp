// Comparisons of measured traces: with themselves, and with a copy in which one kernel takes twice as long.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "analysis/import/load/import.hpp"
#include "analysis/report/tables/compare/compare.hpp"
#include "tests/store/shard_builder.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::report {
namespace {

namespace fs = std::filesystem;

const Table& table_of(const Report& report, const std::string& name) {
  for (const Table& table : report.tables)
    if (table.name == name) return table;
  throw std::out_of_range(name);
}

template <class Value>
Value value(const Table& table, const Row& row, const std::string& column) {
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].name == column) return std::get<Value>(row[i]);
  throw std::out_of_range(column);
}

struct Measured {
  const char* file;
  const char* kernel;  // by its short name
};

class ComparedTraces : public testing::TestWithParam<Measured> {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("DDPPROF_DATA_DIR");
    if (!folder || !fs::exists(fs::path(folder) / "traces")) GTEST_SKIP() << "DDPPROF_DATA_DIR holds no traces";
    import::ImportOptions options;
    options.files = {fs::path(folder) / "traces" / GetParam().file};
    a_.emplace(store::Database::create(folder_ / "a.db"));
    import::import_traces(*a_, options);
    a_->finish_load();
    options.model = "the same, otherwise called";
    b_.emplace(store::Database::create(folder_ / "b.db"));
    import::import_traces(*b_, options);
    b_->finish_load();
  }
  test::TemporaryFolder folder_;
  std::optional<store::Database> a_, b_;
};

TEST_P(ComparedTraces, WithItselfNothingDiffers) {
  const Report report = compare(*a_, *b_, {});
  for (const char* name : {"compare_kernels", "compare_collectives", "compare_time"}) {
    const Table& table = table_of(report, name);
    EXPECT_FALSE(table.rows.empty()) << name;
    for (const Row& row : table.rows) {
      EXPECT_NE(value<std::string>(table, row, "verdict"), different) << name;
      EXPECT_EQ(value<double>(table, row, "difference_s"), 0.0) << name;
    }
  }
  // A device's kernels scatter little from step to step, so most of them are found to be alike.
  const Table& kernels = table_of(report, "compare_kernels");
  const auto alike = std::ranges::count_if(
      kernels.rows, [&](const Row& row) { return value<std::string>(kernels, row, "verdict") == no_difference; });
  EXPECT_GT(alike, static_cast<std::ptrdiff_t>(kernels.rows.size() / 2));
}

// The expected value: all calls of this kernel once more, in each step of the one rank.
TEST_P(ComparedTraces, AKernelThatTakesTwiceAsLongIsOnTop) {
  const std::string like = std::string("%") + GetParam().kernel + "%";
  b_->sql().exec(
      "UPDATE kernel SET end_ns = end_ns + (end_ns - start_ns) WHERE name_id IN (SELECT id FROM string WHERE value "
      "LIKE '" +
      like + "')");
  SQLite::Statement sum(b_->sql(),
                        "SELECT SUM(k.end_ns - k.start_ns) / 2.0 / COUNT(DISTINCT st.id), COUNT(*) * 1.0 / "
                        "COUNT(DISTINCT st.id) FROM step st JOIN kernel k ON k.shard_id = st.shard_id AND k.start_ns "
                        ">= st.start_ns AND k.start_ns < st.start_ns + st.duration_ns JOIN string s ON s.id = "
                        "k.name_id WHERE s.value LIKE '" +
                            like + "'");
  ASSERT_TRUE(sum.executeStep());
  const double once_s = sum.getColumn(0).getDouble() / 1e9, calls = sum.getColumn(1).getDouble();
  ASSERT_GT(once_s, 0.0);
  const Report report = compare(*a_, *b_, {});
  const Table& table = table_of(report, "compare_kernels");
  double slower_s = 0, slower_calls = 0, before = 1e9;
  ASSERT_FALSE(table.rows.empty());
  EXPECT_THAT(value<std::string>(table, table.rows.front(), "name"), testing::HasSubstr(GetParam().kernel));
  for (const Row& row : table.rows) {
    EXPECT_LE(std::abs(value<double>(table, row, "difference_of_step")), before) << "sorted by its effect on the step";
    before = std::abs(value<double>(table, row, "difference_of_step"));
    if (value<std::string>(table, row, "kind") == "various") continue;  // small calls of the kernel are in there
    if (value<std::string>(table, row, "name").find(GetParam().kernel) == std::string::npos) {
      EXPECT_EQ(value<double>(table, row, "difference_s"), 0.0);
      EXPECT_NE(value<std::string>(table, row, "verdict"), different);
      continue;
    }
    EXPECT_EQ(value<std::string>(table, row, "verdict"), different);
    EXPECT_EQ(value<std::string>(table, row, "change"), "slower calls");
    EXPECT_NEAR(value<double>(table, row, "ratio"), 2.0, 1e-9);
    slower_s += value<double>(table, row, "difference_s");
    slower_calls += value<double>(table, row, "b_calls");
  }
  EXPECT_GT(slower_s, 0.5 * once_s) << "kernels too small for a row are summed in the rest";
  EXPECT_LT(slower_s, 1.05 * once_s);
  EXPECT_LE(slower_calls, calls + 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Kineto, ComparedTraces,
                         testing::Values(Measured{"a100_ddp_rank0of2.json.gz", "max_pool_backward_nchw"},
                                         Measured{"v100_ddp_rank1of2.json.gz", "volta_sgemm_64x64_nn"}),
                         [](const auto& trace) { return std::string(trace.param.file).substr(0, 4); });

}  // namespace
}  // namespace ddpprof::report
