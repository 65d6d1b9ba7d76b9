// host_conditions(): the ranks' readings of their hosts, combined.
#include "analysis/import/ranks/host_conditions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddpprof::ranks {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

nlohmann::json conditions(std::int64_t cpu_ms, bool speaks) {
  nlohmann::json found{{"window_ns", 1'000'000'000},
                       {"cpu_ns", cpu_ms * 1'000'000},
                       {"voluntary_switches", 10},
                       {"involuntary_switches", 2},
                       {"major_faults", 0}};
  if (speaks)
    found["host"] = {{"cpus", 2},
                     {"spent_ns",
                      {{"user", 1'200'000'000},
                       {"system", 200'000'000},
                       {"interrupt", 20'000'000},
                       {"idle", 500'000'000},
                       {"steal", 80'000'000}}},
                     {"load", {0.5, 1.5}},
                     {"thermal_throttles", {7, 9}}};
  return found;
}

// Two ranks used 1.1 of the 1.4 s that /proc/stat counts as user and system time. 2 s were available.
TEST(HostConditions, OthersAreWhatTheRanksDidNotUse) {
  RankResults results;
  results.by_rank[0] = {{"host", "a"}, {"conditions", conditions(600, true)}};
  results.by_rank[1] = {{"host", "a"}, {"conditions", conditions(500, false)}};
  results.by_rank[2] = {{"host", "b"}, {"conditions", conditions(500, false)}};
  const auto rows = host_conditions(results);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].host, "a");
  EXPECT_EQ(rows[0].ranks, 2);
  EXPECT_DOUBLE_EQ(*rows[0].ranks_share, 0.55);
  EXPECT_DOUBLE_EQ(*rows[0].others_share, 0.15);
  EXPECT_DOUBLE_EQ(*rows[0].interrupt_share, 0.01);
  EXPECT_DOUBLE_EQ(*rows[0].steal_share, 0.04);
  EXPECT_EQ(*rows[0].thermal_throttles, 2);
  EXPECT_DOUBLE_EQ(*rows[0].load_end, 1.5);
  EXPECT_FALSE(rows[0].frequency_begin_hz.has_value());
  EXPECT_EQ(*rows[0].involuntary_switches, 4);
  // No rank reported host b, so only the ranks' own readings are known.
  EXPECT_EQ(*rows[1].voluntary_switches, 10);
  EXPECT_FALSE(rows[1].others_share.has_value());
}

TEST(HostConditions, AWindowOfAFewTicksIsNotJudged) {
  RankResults results;
  nlohmann::json short_one = conditions(10, true);
  short_one["host"]["spent_ns"] = {
      {"user", 30'000'000}, {"system", 0}, {"interrupt", 0}, {"idle", 10'000'000}, {"steal", 0}};
  results.by_rank[0] = {{"host", "a"}, {"conditions", short_one}};
  EXPECT_FALSE(host_conditions(results)[0].others_share.has_value());
  EXPECT_DOUBLE_EQ(*host_conditions(results)[0].ranks_share, 0.25);
  EXPECT_THAT(host_conditions(RankResults{}), IsEmpty());
}

TEST(Warmup, IsNamedOnlyWhereItDidNotSettle) {
  RankResults results;
  EXPECT_THAT(check_warmup(results), IsEmpty());
  results.by_rank[0] = {{"warmup", {{"steps", 26}, {"automatic", true}, {"settled", true}}}};
  EXPECT_THAT(check_warmup(results), IsEmpty());
  results.by_rank[0]["warmup"] = {{"steps", 100}, {"automatic", true}, {"settled", false}};
  const auto rows = check_warmup(results);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].code, "warmup_unsettled");
  EXPECT_THAT(rows[0].message, HasSubstr("after 100 warm-up steps"));
}

}  // namespace
}  // namespace ddpprof::ranks
