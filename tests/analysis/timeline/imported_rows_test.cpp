// Imported raw events: ranges without a depth and out of order, calls with names, kernel names that are not mangled.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/timeline/details.hpp"
#include "analysis/timeline/load.hpp"
#include "tests/analysis/report/synthetic_run.hpp"
#include "tests/tiers.hpp"

namespace ddpprof::timeline {
namespace {

namespace fs = std::filesystem;

struct Range {
  const char* name;
  std::int64_t start_ns, end_ns;
};

class ImportedTimeline : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ddpprof_imported_rows_test_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // One measurement of one rank with `ranges` of thread 7, in this order; `more` adds to shard 1.
  std::shared_ptr<const Timeline> read(
      const std::vector<Range>& ranges,
      const std::function<void(store::Database&, store::StringInterner&)>& more = [](auto&, auto&) {}) {
    {
      test::SyntheticRun run(file_ = folder_ / "run.db");
      store::MeasurementRow row = test::train("ddp", 2);
      row.device = "cuda";
      const std::int64_t shard = run.shard(run.measurement(row), 1);
      run.database.sql().exec("UPDATE shard SET raw_kept = 1");
      store::StringInterner strings(run.database);
      store::Inserter<store::RangeRow> table(run.database);
      const std::int64_t operation = strings.intern("operation");
      for (const Range& range : ranges)
        table.insert({shard,
                      7,
                      strings.intern(range.name),
                      operation,
                      store::RangeKind::push_pop,
                      -1,
                      range.start_ns,
                      range.end_ns,
                      {}});
      more(run.database, strings);
    }
    return load(file_, 1);
  }

  // The names in each row of the track, in order.
  static std::vector<std::vector<std::string>> rows(const Timeline& all, const std::string& track) {
    std::vector<std::vector<std::string>> out;
    for (const Track& one : all.tracks)
      if (one.name == track)
        for (std::uint32_t r = one.first_row; r < one.first_row + one.rows; ++r) {
          out.emplace_back();
          for (const std::uint32_t name : all.rows[r].name) out.back().push_back(all.names.text(name));
        }
    return out;
  }
  static EventRef only(const Timeline& all, const std::string& track) {
    for (const Track& one : all.tracks)
      if (one.name == track) return {one.first_row, 0};
    ADD_FAILURE() << "no track " << track;
    return {};
  }
  using Names = std::vector<std::vector<std::string>>;

  fs::path folder_, file_;
};

TEST_F(ImportedTimeline, RangesNestAsTheirTimesDoWhateverTheirOrder) {
  const auto all = read({{"leaf", 110, 120}, {"second", 300, 400}, {"call", 100, 200}, {"step", 0, 1000}});
  EXPECT_EQ(rows(*all, "host 7"), (Names{{"step"}, {"call", "second"}, {"leaf"}}));
}

TEST_F(ImportedTimeline, OfThoseThatStartTogetherTheLongerIsAbove) {
  const auto all = read({{"inner", 0, 10},
                         {"middle", 0, 50},
                         {"outer", 0, 100},
                         {"alike a", 200, 210},
                         {"alike b", 200, 210},
                         {"next", 100, 110}});
  EXPECT_EQ(rows(*all, "host 7"), (Names{{"outer", "next", "alike a"}, {"middle", "alike b"}, {"inner"}}));
}

TEST_F(ImportedTimeline, WhatCrossesLiesWhereNothingCollidesAndHasItsOwnBelowIt) {
  // "late" ends after "early", in which it began. "in late" lies only in "late", although the first row is already
  // free.
  const auto all = read({{"early", 0, 100}, {"late", 50, 150}, {"in late", 110, 120}, {"after", 150, 160}});
  EXPECT_EQ(rows(*all, "host 7"), (Names{{"early", "after"}, {"late"}, {"in late"}}));
}

TEST_F(ImportedTimeline, AChainOfCrossingRangesTakesTwoRows) {
  const auto all = read({{"a", 0, 10}, {"b", 8, 18}, {"c", 16, 26}, {"d", 24, 34}});
  EXPECT_EQ(rows(*all, "host 7"), (Names{{"a", "c"}, {"b", "d"}}));
}

TEST_F(ImportedTimeline, NoRowHoldsEventsThatCollide) {
  std::vector<Range> ranges;
  std::uint64_t state = 1;
  const int count = test::long_tests() ? 4000 : 1200;
  for (int i = 0; i < count; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto start = static_cast<std::int64_t>(state >> 40) % 100'000;
    ranges.push_back({i % 2 == 0 ? "even" : "odd", start, start + static_cast<std::int64_t>((state >> 20) % 2000)});
  }
  const auto all = read(ranges);
  std::size_t events = 0;
  for (const Row& row : all->rows) {
    events += row.size();
    for (std::size_t i = 1; i < row.size(); ++i) ASSERT_GE(row.start_ns[i], row.end_ns(i - 1));
  }
  EXPECT_EQ(events, ranges.size());
}

TEST_F(ImportedTimeline, CallsAreCalledByTheirNamesWhereTheseAreKnown) {
  const auto all = read({}, [](store::Database& db, store::StringInterner& strings) {
    store::Inserter<store::ApiCallRow> calls(db);
    calls.insert({1, "driver", 0, 7, 1, 12, 18, strings.intern("cuLaunchKernel")});
    calls.insert({1, "runtime", 211, 7, 1, 10, 20, strings.intern("cudaLaunchKernel")});
    calls.insert({1, "runtime", 211, 7, 1, 30, 40});
  });
  EXPECT_EQ(rows(*all, "CUDA calls 7"), (Names{{"cudaLaunchKernel", "runtime call 211"}, {"cuLaunchKernel"}}));
  const auto known = raw_details(file_, *all, only(*all, "CUDA calls 7"));
  ASSERT_EQ(known.size(), 2U);
  EXPECT_EQ(known[0].name, "interface");
  EXPECT_EQ(std::get<std::string>(known[0].value), "runtime");
}

TEST_F(ImportedTimeline, KernelsKeepNamesThatAreNotMangledAndLieByDeviceAndStream) {
  const auto all = read({}, [](store::Database& db, store::StringInterner& strings) {
    store::Inserter<store::KernelRow> kernels(db);
    kernels.insert({1, strings.intern("i"), 0, 7, 1, 10, 20, 1, 1, 1, 0});
    kernels.insert({1, strings.intern("void add<float>(float*)"), 0, 7, 2, 0, 10, 1, 1, 1, 0});
    kernels.insert({1, strings.intern("ncclKernel_AllReduce"), 1, 9, 3, 0, 10, 1, 1, 1, 0});
  });
  EXPECT_EQ(rows(*all, "GPU 0 stream 7"), (Names{{"void add<float>(float*)", "i"}}));
  EXPECT_EQ(rows(*all, "GPU 1 stream 9"), (Names{{"ncclKernel_AllReduce"}}));
}

TEST_F(ImportedTimeline, UnitsOfAShardedTrainingHaveTracks) {
  const auto all = read({}, [](store::Database& db, store::StringInterner&) {
    store::StepRow step;
    step.shard_id = 1;
    step.start_ns = 1000;
    step.duration_ns = 500;
    const std::int64_t id = store::Inserter<store::StepRow>(db).insert(step);
    store::Inserter<store::ShardedUnitRow> units(db);
    units.insert({1, 0, "", 1, {}, 0, {}, 0, {}, {}, {}, 0});
    units.insert({1, 1, "layers.0", 0, {}, 4096, {}, 4096, {}, {}, {}, 0});
    store::Inserter<store::ShardedWorkRow> work(db);
    const auto add = [&](std::int64_t unit, const char* action, const char* pass, std::int64_t from, std::int64_t to) {
      store::ShardedWorkRow row;
      row.step_id = id;
      row.unit = unit;
      row.action = action;
      row.pass = pass;
      row.start_ns = from;
      row.end_ns = to;
      work.insert(row);
    };
    add(0, "compute", "forward", 0, 200);
    add(1, "all_gather", "forward", 0, 20);
    add(1, "copy", "forward", 20, 25);
    add(1, "compute", "forward", 25, 150);
    add(1, "compute", "backward", 200, 400);
    add(1, "reduce_scatter", "backward", 400, 450);
  });
  EXPECT_EQ(rows(*all, "unit root"), (Names{{"forward root"}}));
  EXPECT_EQ(rows(*all, "unit layers.0"), (Names{{"copies layers.0", "forward layers.0", "backward layers.0"},
                                                {"all-gather layers.0", "reduce-scatter layers.0"}}));
  const EventRef first = only(*all, "unit layers.0");
  EXPECT_EQ(all->rows[first.row].at(0).start_ns, 1020);
  EXPECT_EQ(all->rows[first.row].at(0).duration_ns, 5);
  EXPECT_EQ(details(*all, first).front().name, "name");
}

TEST_F(ImportedTimeline, DetailsTellNoDepthThatNobodyRecorded) {
  const auto all = read({{"aten::add", 0, 10}});
  const auto found = raw_details(file_, *all, only(*all, "host 7"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].name, "domain");
  EXPECT_EQ(std::get<std::string>(found[0].value), "operation");
}

}  // namespace
}  // namespace ddpprof::timeline
