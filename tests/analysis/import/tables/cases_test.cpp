// Files that were read wrongly once: what ddpprof import and predict say about them. The right answers are from the
// files themselves: their lines "Rank … on HOST", the time of their row of 1 GiB, their summary. Each test runs on the
// copy in the repository, and on the file in DDPPROF_DATA_DIR/cases if it is there.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/run_program.hpp"

namespace ddpprof {
namespace {

namespace fs = std::filesystem;
using test::Outcome;
using test::run_ddpprof;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t gib = std::int64_t{1} << 30;

struct Sweep {
  std::int64_t ranks, hosts, sizes;
  std::int64_t largest_ns;  // 1 GiB, out of place
  bool operator==(const Sweep&) const = default;
};

std::ostream& operator<<(std::ostream& to, const Sweep& one) {
  return to << one.ranks << " ranks, " << one.hosts << " hosts, " << one.sizes << " sizes, " << one.largest_ns << " ns";
}

class TableCases : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("copy")) {
      folder_ = DDPPROF_TABLE_CASES;
    } else {
      const char* data = std::getenv("DDPPROF_DATA_DIR");
      if (!data || !fs::exists(fs::path(data) / "cases")) GTEST_SKIP() << "DDPPROF_DATA_DIR has no cases";
      folder_ = fs::path(data) / "cases";
    }
    made_ = fs::temp_directory_path() / ("ddpprof_table_cases_" + std::to_string(getpid()));
    fs::create_directories(made_);
  }
  void TearDown() override { fs::remove_all(made_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string database() const { return (made_ / "case.db").string(); }
  Outcome import_case(const std::string& name) const {
    return run_ddpprof({"import", path(name), "--out", database(), "--overwrite"});
  }
  void expect_refused(const std::string& name, const testing::Matcher<std::string>& why) const {
    const Outcome imported = import_case(name);
    EXPECT_EQ(imported.code, 5) << imported.messages;
    EXPECT_THAT(imported.messages, why);
    EXPECT_FALSE(fs::exists(database()));
  }
  std::vector<Sweep> sweeps_of(const std::string& name) {
    imported_ = import_case(name);
    EXPECT_EQ(imported_.code, 0) << imported_.messages;
    if (imported_.code != 0) return {};
    SQLite::Database sql(database());
    SQLite::Statement rows(sql,
                           "SELECT m.world_size, m.nodes, count(DISTINCT c.bytes), "
                           "max(c.duration_ns) FILTER (WHERE c.bytes = ? AND c.iteration % 2 = 0) FROM measurement m "
                           "JOIN shard s ON s.measurement_id = m.id JOIN comm_point c ON c.shard_id = s.id "
                           "GROUP BY m.id ORDER BY m.id");
    rows.bind(1, gib);
    std::vector<Sweep> sweeps;
    while (rows.executeStep())
      sweeps.push_back({rows.getColumn(0).getInt64(), rows.getColumn(1).getInt64(), rows.getColumn(2).getInt64(),
                        rows.getColumn(3).getInt64()});
    return sweeps;
  }
  // The diagnostics of the last import.
  std::vector<std::string> warnings() const {
    SQLite::Database sql(database());
    SQLite::Statement rows(sql, "SELECT code FROM diagnostic WHERE severity = 'warning' ORDER BY rowid");
    std::vector<std::string> codes;
    while (rows.executeStep()) codes.push_back(rows.getColumn(0).getString());
    return codes;
  }

  fs::path folder_, made_;
  Outcome imported_;
};

INSTANTIATE_TEST_SUITE_P(cases, TableCases, testing::Values("copy", "shared"),
                         [](const auto& from) { return std::string(from.param); });

TEST_P(TableCases, TwoJobsOfOneNodeEachAreRefused) {
  expect_refused("nccl_two_jobs_of_one_node_each_mpi_missing.log",
                 AllOf(HasSubstr("every rank appears 2 times"), HasSubstr("build nccl-tests with MPI=1")));
}

TEST_P(TableCases, TwoAndFourNodesAreTwoSweeps) {
  const std::vector<Sweep> sweeps = sweeps_of("nccl_two_and_four_nodes_in_one_log.log");
  ASSERT_EQ(sweeps.size(), 2U);
  EXPECT_EQ(sweeps[0].ranks, 16);
  EXPECT_EQ(sweeps[0].hosts, 2);
  EXPECT_EQ(sweeps[0].largest_ns, 6730890);
  EXPECT_EQ(sweeps[1].ranks, 32);
  EXPECT_EQ(sweeps[1].hosts, 4);
  EXPECT_EQ(sweeps[1].largest_ns, 20823700);
}

TEST_P(TableCases, TwoCollectivesAreTwoSweepsWithTheirNames) {
  const std::vector<Sweep> sweeps = sweeps_of("nccl_all_reduce_then_all_gather_mixed_up.log");
  ASSERT_EQ(sweeps.size(), 2U);
  EXPECT_EQ(sweeps[0], (Sweep{16, 2, 11, 10086300}));
  EXPECT_EQ(sweeps[1].ranks, 16);
  SQLite::Database sql(database());
  EXPECT_EQ(sql.execAndGet("SELECT group_concat(DISTINCT op) FROM comm_point").getString(), "all_reduce,all_gather");
  EXPECT_THAT(warnings(), ElementsAre());
}

TEST_P(TableCases, AReduceIsRefused) {
  expect_refused("nccl_reduce_of_two_ranks_taken_for_all_reduce.log",
                 HasSubstr("these are not all-reduces: the test is reduce_perf"));
}

TEST_P(TableCases, TimesOfTheProcessorAreRefused) {
  expect_refused("nccl_cpu_times_taken_for_latencies.log", HasSubstr("the column \"cputime\""));
}

TEST_P(TableCases, WrongValuesAreReported) {
  EXPECT_THAT(sweeps_of("nccl_wrong_values_not_said.log"), ElementsAre(Sweep{16, 2, 11, 10086300}));
  EXPECT_THAT(imported_.messages, HasSubstr("out-of-bounds values: 22 FAILED"));
  EXPECT_THAT(warnings(), ElementsAre("log_wrong_values"));
}

TEST_P(TableCases, TagsOfOpenMpiAreRemoved) {
  EXPECT_THAT(sweeps_of("nccl_open_mpi_tag_output_ranks_not_read.log"), ElementsAre(Sweep{2, 2, 11, 5388710}));
}

TEST_P(TableCases, TimestampsAreRemoved) {
  EXPECT_THAT(sweeps_of("nccl_kubectl_timestamps_refused.log"), ElementsAre(Sweep{16, 2, 11, 10086300}));
  EXPECT_THAT(warnings(), ElementsAre());
}

TEST_P(TableCases, ACutRowIsReported) {
  const std::vector<Sweep> sweeps = sweeps_of("nccl_cut_in_its_last_row_refused.log");
  ASSERT_EQ(sweeps.size(), 1U);
  EXPECT_EQ(sweeps[0].ranks, 16);
  EXPECT_EQ(sweeps[0].sizes, 7);
  EXPECT_THAT(imported_.messages, HasSubstr("1 row was left out"));
  EXPECT_THAT(warnings(), ElementsAre("log_rows_lost"));
}

TEST_P(TableCases, ARowBehindADebugLineIsFound) {
  EXPECT_THAT(sweeps_of("nccl_row_behind_debug_line_lost.log"), ElementsAre(Sweep{16, 2, 11, 10086300}));
}

TEST_P(TableCases, OfSplitGroupsOneGroupCounts) {
  EXPECT_THAT(sweeps_of("nccl_split_groups_of_two_wrong_message.log"), ElementsAre(Sweep{2, 2, 11, 26863500}));
  EXPECT_THAT(imported_.messages, HasSubstr("8 groups ran at the same time"));
}

TEST_P(TableCases, TheJsonFileIsRead) {
  const std::vector<Sweep> sweeps = sweeps_of("nccl_json_of_nccl_tests.json");
  ASSERT_EQ(sweeps.size(), 1U);
  EXPECT_EQ(sweeps[0].ranks, 16);
  EXPECT_EQ(sweeps[0].hosts, 2);
  EXPECT_EQ(sweeps[0].sizes, 11);
  EXPECT_EQ(sweeps[0].largest_ns, 10086330) << "10086.3296 us";
}

TEST_P(TableCases, SemicolonsAreNamed) {
  expect_refused("csv_semicolons_message.csv",
                 AllOf(HasSubstr("the columns are separated by semicolons"), HasSubstr("expected commas")));
  EXPECT_THAT(run_ddpprof({"predict", path("csv_semicolons_message.csv"), "--workers", "8"}).messages,
              HasSubstr("separated by semicolons"));
}

nlohmann::json predicted(const std::string& database, const std::string& log, const std::string& per_node) {
  const Outcome outcome = run_ddpprof(
      {"predict", database, "--workers", "8,16", "--all-reduce", log, "--gpus-per-node", per_node, "--format", "json"});
  EXPECT_EQ(outcome.code, 0) << outcome.messages;
  return outcome.code == 0 ? nlohmann::json::parse(outcome.out)["tables"][0]["rows"] : nlohmann::json::array();
}

// A job on two GPUs of one host and the same job on one GPU lead to the same communication over the log's links.
TEST_P(TableCases, ALogAcrossHostsIsNotScaledByOneHostsLinks) {
  const std::string folder = "predict_log_across_hosts_scaled_by_one_hosts_links/";
  const std::string log = path(folder + "eight_ranks_on_four_hosts.log"), one = (made_ / "one.db").string(),
                    two = (made_ / "two.db").string();
  ASSERT_EQ(run_ddpprof({"import", path(folder + "one_gpu"), "--out", one}).code, 0);
  ASSERT_EQ(run_ddpprof({"import", path(folder + "two_gpus_of_one_host"), "--out", two}).code, 0);
  for (const char* per_node : {"0", "2"}) {
    const nlohmann::json of_one = predicted(one, log, per_node), of_two = predicted(two, log, per_node);
    ASSERT_EQ(of_one.size(), 2U);
    ASSERT_EQ(of_two.size(), 2U);
    for (const auto& [row, communication_s] : {std::pair{0U, 0.77e-3}, {1U, 0.87e-3}}) {
      EXPECT_NEAR(of_two[row]["communication_s"].get<double>(), communication_s, 0.02e-3) << per_node;
      const double exposed_s = of_one[row]["exposed_s"], right_s = of_one[row]["step_s"];
      EXPECT_NEAR(of_two[row]["exposed_s"].get<double>() / exposed_s, 1.0, 0.03) << per_node;
      EXPECT_LE(of_two[row]["step_low_s"].get<double>(), right_s) << per_node;
      EXPECT_GE(of_two[row]["step_high_s"].get<double>(), right_s) << per_node;
    }
  }
}

}  // namespace
}  // namespace ddpprof
