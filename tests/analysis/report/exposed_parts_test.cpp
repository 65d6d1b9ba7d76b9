// The exposed communication of one recording is the same in the summary, by rank, by phase and in the answer.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <list>
#include <stdexcept>

#include "analysis/metrics/ranks/ranks.hpp"
#include "analysis/predict/predict.hpp"
#include "analysis/report/answer/glance.hpp"
#include "analysis/report/report.hpp"
#include "analysis/report/tables/ranks/rank_tables.hpp"
#include "tests/analysis/report/synthetic_run.hpp"

namespace ddpprof::report {
namespace {

using test::ms;

class ExposedParts : public testing::Test {
 protected:
  ExposedParts()
      : path_(std::filesystem::temp_directory_path() / ("exposed-parts-" + std::to_string(::getpid()) + ".db")),
        run_(path_) {}
  ~ExposedParts() override { std::filesystem::remove(path_); }

  // Steps of 50 ms. Rank 1 is late by 5 ms and 10 ms for two buckets that take 3 ms each. Compute hides all of the
  // first collective and none of the second: rank 0 has 13 ms of exposed communication, of which 10 ms are waiting, and
  // rank 1 has 3 ms.
  std::int64_t late_rank() {
    const std::int64_t id = run_.measurement(test::train("ddp", 2));
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      const std::int64_t shard = run_.shard(id, rank), early = rank == 0 ? 5 * ms : 0;
      for (std::int64_t step = 0; step < 12; ++step) {
        const std::int64_t begin = 7 * ms + step * 50 * ms;
        const std::int64_t row = rank == 0 ? run_.step(shard, step, begin, 50 * ms, 30 * ms, 21 * ms, 8 * ms, 15 * ms)
                                           : run_.step(shard, step, begin, 50 * ms, 30 * ms, 6 * ms, 3 * ms, 0);
        store::Inserter<store::GradReadyRow>(run_.database).insert({row, 0, 30 * ms});
        run_.collective(shard, row, 2 * step, 0, 1 << 20, begin + 26 * ms - early, begin + 26 * ms - early,
                        begin + 29 * ms, 3 * ms);
        run_.collective(shard, row, 2 * step + 1, 1, 1 << 20, begin + 40 * ms - 2 * early, begin + 40 * ms - 2 * early,
                        begin + 43 * ms, 3 * ms);
      }
    }
    return id;
  }

  const Table& table(const std::string& report, const std::string& name) {
    reports_.push_back(build_report(run_.database, report));
    for (const Table& one : reports_.back().tables)
      if (one.name == name) return one;
    throw std::out_of_range(name);
  }

  std::filesystem::path path_;
  test::SyntheticRun run_;
  std::list<Report> reports_;
};

double exposed_number(const Table& table, std::size_t row, std::string_view column) {
  return value_of<double>(table, table.rows.at(row), column).value();
}

TEST_F(ExposedParts, HaveOneValueInAllReports) {
  const std::int64_t id = late_rank();
  fit::PredictOptions options;
  options.workers = {2};
  fit::fit_and_predict(run_.database, options);
  constexpr double exposed_s = 0.008, waits_s = 0.005, step_s = 0.050;  // means of both ranks

  EXPECT_NEAR(exposed_number(table("summary", "step"), 0, "communication_overhead"), exposed_s / step_s, 1e-9);
  EXPECT_NEAR(exposed_number(table("phases", "time"), 0, "exposed_s"), exposed_s, 1e-9);
  EXPECT_NEAR(exposed_number(table("phases", "time"), 0, "exposed_wait_s"), waits_s, 1e-9);

  const Table ranks = ranks_table(metrics::read_ranks(run_.database, id));
  EXPECT_NEAR((exposed_number(ranks, 0, "exposed_s") + exposed_number(ranks, 1, "exposed_s")) / 2.0, exposed_s, 1e-9);
  EXPECT_NEAR((exposed_number(ranks, 0, "exposed_wait_s") + exposed_number(ranks, 1, "exposed_wait_s")) / 2.0, waits_s,
              1e-9);

  const std::vector<GlanceStep> steps =
      glance_steps(Source{run_.database.sql(), metrics::read_configurations(run_.database.sql())});
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_TRUE(steps[0].measured);
  EXPECT_NEAR(steps[0].transfer.value(), (exposed_s - waits_s) / step_s, 1e-9);
  EXPECT_NEAR(steps[0].skew.value(), waits_s / step_s, 1e-9);
  EXPECT_NEAR(steps[0].exposed.value(), exposed_s / step_s, 1e-9);
}

}  // namespace
}  // namespace ddpprof::report
