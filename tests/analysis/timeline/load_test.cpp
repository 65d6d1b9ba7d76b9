// Loading a timeline: the place and clock of events, and the order in which they arrive.
#include "analysis/timeline/load.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "analysis/timeline/details.hpp"
#include "analysis/timeline/flows.hpp"
#include "tests/analysis/timeline/traced_run.hpp"

namespace ddpprof::timeline {
namespace {

using test::ms;

const Track* track_of(const Timeline& all, std::uint32_t rank, const std::string& name) {
  for (const Track& track : all.tracks)
    if (track.rank == rank && track.name == name) return &track;
  return nullptr;
}

std::vector<std::string> track_names(const Timeline& all, std::uint32_t rank) {
  std::vector<std::string> names;
  for (const Track& track : all.tracks)
    if (track.rank == rank) names.push_back(track.name);
  return names;
}

std::string text(const Timeline& all, const Row& row, std::size_t i) { return all.names.text(row.name[i]); }

class TimelineLoad : public testing::Test {
 protected:
  test::TracedFile file_;
  std::shared_ptr<const Timeline> all_ = load(file_.path, test::traced_measurement);
};

TEST_F(TimelineLoad, TracksStandByRankInTheOrderOfTheExport) {
  ASSERT_EQ(all_->ranks.size(), 2U);
  EXPECT_EQ(all_->title, "ddp N=2");
  EXPECT_TRUE(all_->complete);
  EXPECT_EQ(track_names(*all_, 0), (std::vector<std::string>{"steps", "gradients ready", "collectives launched",
                                                             "collectives", "GPU 0 stream 7", "NVTX 77 main",
                                                             "NVTX 77 main, overlapping", "CUDA calls 77 main"}));
  EXPECT_EQ(track_names(*all_, 1),
            (std::vector<std::string>{"steps", "gradients ready", "collectives launched", "collectives", "NVTX 88"}));
  EXPECT_EQ(all_->ranks[1].clock, "clock ± 20 µs");
  EXPECT_EQ(all_->ranks[0].clock, "");
}

TEST_F(TimelineLoad, TimesAreOnRankZerosClock) {
  const Track& zero = *track_of(*all_, 0, "steps");
  const Track& one = *track_of(*all_, 1, "steps");
  EXPECT_EQ(all_->rows[zero.first_row].start_ns.front(), 1000 * ms);
  EXPECT_EQ(all_->rows[one.first_row].start_ns.front(), 1000 * ms + 5000) << "5 µs behind";
  EXPECT_EQ(all_->rows[track_of(*all_, 1, "NVTX 88")->first_row].at(0),
            (Event{1000 * ms + 10 + 5000, 10, all_->rows[track_of(*all_, 1, "NVTX 88")->first_row].name[0], 8}));
  EXPECT_EQ(all_->begin_ns, 1000 * ms);
}

TEST_F(TimelineLoad, StepsHaveTheirPhasesBelow) {
  const Track& track = *track_of(*all_, 0, "steps");
  ASSERT_EQ(track.rows, 2U);
  const Row& steps = all_->rows[track.first_row];
  const Row& phases = all_->rows[track.first_row + 1];
  EXPECT_EQ(steps.size(), 5U);
  EXPECT_EQ(text(*all_, steps, 1), "step 1");
  EXPECT_EQ(all_->steps[steps.argument[1]].exposed_ns, 30 * ms);
  EXPECT_EQ(phases.size(), 20U);
  EXPECT_EQ(text(*all_, phases, 1), "forward");
  EXPECT_EQ(phases.start_ns[1], 1001 * ms);
  EXPECT_EQ(phases.duration_ns[1], 30 * ms);
}

TEST_F(TimelineLoad, CollectivesInFlightTogetherAreOnRowsOfTheirOwn) {
  const Track& track = *track_of(*all_, 0, "collectives");
  ASSERT_EQ(track.rows, 2U);
  EXPECT_EQ(text(*all_, all_->rows[track.first_row], 0), "all_reduce bucket 0");
  EXPECT_EQ(text(*all_, all_->rows[track.first_row + 1], 0), "all_reduce bucket 1");
  for (const Collective& c : all_->collectives) {
    EXPECT_EQ(all_->rows[c.row].start_ns[c.event], *c.start_ns);
    EXPECT_EQ(&all_->collectives[all_->rows[c.row].argument[c.event]], &c);
  }
}

TEST_F(TimelineLoad, WhatNeverEndedIsAnInstantThatSaysSo) {
  const Row& row = all_->rows[track_of(*all_, 1, "collectives")->first_row];
  bool seen = false;
  for (std::size_t i = 0; i < row.size(); ++i)
    if (text(*all_, row, i) == "all_reduce bucket 0 never ended") {
      seen = true;
      EXPECT_EQ(row.duration_ns[i], 0);
      EXPECT_EQ(all_->names.category(row.name[i]), Category::unfinished);
    }
  EXPECT_TRUE(seen);
  const Row& nvtx = all_->rows[track_of(*all_, 0, "NVTX 77 main")->first_row];
  ASSERT_EQ(nvtx.size(), 3U);
  EXPECT_EQ(text(*all_, nvtx, 0), "Outer");
  EXPECT_EQ(text(*all_, nvtx, 1), "Outer never ended");
  EXPECT_EQ(text(*all_, nvtx, 2), "inner") << "the mark";
}

TEST_F(TimelineLoad, RawEventsHaveTheirDepthsLanesAndNames) {
  const Track& nvtx = *track_of(*all_, 0, "NVTX 77 main");
  ASSERT_EQ(nvtx.rows, 2U);
  EXPECT_EQ(all_->rows[nvtx.first_row + 1].size(), 2U);
  EXPECT_EQ(track_of(*all_, 0, "NVTX 77 main, overlapping")->rows, 2U);
  const Track& calls = *track_of(*all_, 0, "CUDA calls 77 main");
  ASSERT_EQ(calls.rows, 2U) << "a driver call inside a runtime call";
  EXPECT_EQ(text(*all_, all_->rows[calls.first_row], 0), "runtime call 211");
  EXPECT_EQ(text(*all_, all_->rows[calls.first_row + 1], 0), "driver call 5");
  const Row& stream = all_->rows[track_of(*all_, 0, "GPU 0 stream 7")->first_row];
  ASSERT_EQ(stream.size(), 2U);
  EXPECT_EQ(text(*all_, stream, 0), "saxpy(float, float*)");
  EXPECT_EQ(text(*all_, stream, 1), "host_to_device");
  EXPECT_EQ(all_->names.category(stream.name[1]), Category::memory_copy);
}

TEST_F(TimelineLoad, SummariesComeBeforeRawEvents) {
  std::shared_ptr<const Timeline> first;
  std::atomic<int> told{0};
  LoadHooks hooks;
  hooks.first = [&](std::shared_ptr<const Timeline> early) { first = std::move(early); };
  hooks.progress = [&](double share) {
    ++told;
    EXPECT_GE(share, 0.0);
    EXPECT_LE(share, 1.0);
  };
  const auto all = load(file_.path, test::traced_measurement, hooks);
  ASSERT_NE(first, nullptr);
  EXPECT_FALSE(first->complete);
  EXPECT_EQ(track_of(*first, 0, "NVTX 77 main"), nullptr);
  EXPECT_EQ(first->collectives.size(), all->collectives.size());
  for (const Collective& c : first->collectives) EXPECT_EQ(first->rows[c.row].start_ns[c.event], *c.start_ns);
  EXPECT_GT(told.load(), 0);
  // 10 steps, 40 phases, 8 gradients, 16 launches, 16 collectives; 7 + 1 ranges, 2 on the stream, 2 calls.
  EXPECT_EQ(first->events(), 90);
  EXPECT_EQ(all->events(), 102);
}

TEST_F(TimelineLoad, ACancelledLoadGivesNothing) {
  LoadHooks hooks;
  int first = 0;
  hooks.cancelled = [] { return true; };
  hooks.first = [&](const std::shared_ptr<const Timeline>&) { ++first; };
  EXPECT_EQ(load(file_.path, test::traced_measurement, hooks), nullptr);
  EXPECT_EQ(first, 0);
}

TEST_F(TimelineLoad, AMeasurementWithoutRawEventsIsComplete) {
  const auto dp = load(file_.path, 3);
  EXPECT_TRUE(dp->complete);
  EXPECT_FALSE(dp->raw_kept);
  EXPECT_EQ(track_names(*dp, 0), (std::vector<std::string>{"steps", "replica 0", "replica 1"}));
}

TEST_F(TimelineLoad, AMeasurementThatIsNotThereIsSaid) {
  EXPECT_THROW(load(file_.path, 99), std::invalid_argument);
  EXPECT_THROW(load("/nowhere/at-all.db", 1), store::DatabaseError);
}

TEST_F(TimelineLoad, DetailsSayWhatTheFileKnows) {
  const Track& track = *track_of(*all_, 0, "NVTX 77 main");
  const EventRef outer{track.first_row, 0};
  const auto raw = raw_details(file_.path, *all_, outer);
  ASSERT_EQ(raw.size(), 2U);
  EXPECT_EQ(raw[0].name, "depth");
  EXPECT_EQ(std::get<std::int64_t>(raw[1].value), 5) << "the payload";
  const EventRef copy{track_of(*all_, 0, "GPU 0 stream 7")->first_row, 1};
  const auto moved = raw_details(file_.path, *all_, copy);
  ASSERT_EQ(moved.size(), 2U);
  EXPECT_EQ(moved[0].unit, "bytes");
  EXPECT_EQ(std::get<std::int64_t>(moved[0].value), 4096);
  const EventRef collective{track_of(*all_, 0, "collectives")->first_row, 0};
  EXPECT_EQ(bytes_of(*all_, collective), 1 << 20);
  EXPECT_TRUE(raw_details(file_.path, *all_, collective).empty());
  EXPECT_EQ(bytes_of(*all_, {track_of(*all_, 0, "gradients ready")->first_row, 0}), 31360);
}

}  // namespace
}  // namespace ddpprof::timeline
