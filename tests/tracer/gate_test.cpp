// Tests which events the gate records, with a control page and times set by the test.
#include "tracer/record/recorder/gate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tracer/control_page.hpp"
#include "tests/tracer/run_program.hpp"
#include "tracer/record/shard/shard_file.hpp"

namespace ddpprof::record {
namespace {

using test::PageOfBounds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class GateTest : public testing::Test {
 protected:
  ~GateTest() override { kept_until_ns = INT64_MAX; }

  void open() {
    std::string error;
    shard_ = ShardFile::create({folder_.path().string(), 1 << 20}, error);
    ASSERT_NE(shard_, nullptr) << error;
    log_ = std::make_unique<ThreadLog>(*shard_, 7);
    gate_ = std::make_unique<Gate>();
    gate_->open(folder_.path().string());
    gate_->describe(shard_->header().bounds);
  }
  bool admits(std::int64_t time_ns) { return gate_->admits(*log_, time_ns); }
  // Pushes and pops a step. Returns true if the push was recorded.
  bool step(const std::string& name, std::int64_t from_ns, std::int64_t to_ns) {
    const Gate::Beginning beginning = gate_->range_begins(*log_, name, from_ns);
    if (beginning.loop != nullptr) {
      numbers_.push_back(beginning.number);
      gate_->step_ends(*log_, beginning.loop, beginning.number, to_ns);
    }
    return beginning.kept;
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> windows() const {
    std::vector<std::pair<std::int64_t, std::int64_t>> windows;
    for (const test::Record& record : test::walk(shard_->path()).records) {
      if (record.type == trace::RecordType::window_begin) windows.emplace_back(record.time_ns, -1);
      if (record.type == trace::RecordType::window_end) windows.back().second = record.time_ns;
    }
    return windows;
  }
  const trace::ShardBounds& bounds() const { return shard_->header().bounds; }

  test::TemporaryFolder folder_;
  std::unique_ptr<ShardFile> shard_;
  std::unique_ptr<ThreadLog> log_;
  std::unique_ptr<Gate> gate_;
  std::vector<std::int64_t> numbers_;  // of the ranges that the gate recognised as steps
};

TEST_F(GateTest, WithoutAPageEverythingIsKept) {
  open();
  EXPECT_FALSE(gate_->bounded());
  EXPECT_EQ(kept_until_ns, INT64_MAX);
  EXPECT_TRUE(admits(5));
  EXPECT_EQ(bounds().asked, 0u);
  EXPECT_EQ(gate_->windows(*log_).size(), 1u);
}

TEST_F(GateTest, EventsAreKeptBetweenToggles) {
  PageOfBounds(folder_.path()).toggle(100).toggle(200).toggle(300);
  open();
  EXPECT_FALSE(admits(99));
  EXPECT_TRUE(admits(100));
  EXPECT_EQ(kept_until_ns, 200) << "events before 200 need not ask the gate";
  EXPECT_TRUE(admits(199));
  EXPECT_FALSE(admits(200));
  EXPECT_FALSE(admits(299));
  EXPECT_TRUE(admits(1000));
  EXPECT_EQ(kept_until_ns, INT64_MAX);
  EXPECT_EQ(bounds().left_out_events, 3u);
  EXPECT_THAT(windows(), ElementsAre(std::pair(100, 200), std::pair(300, -1)));
}

TEST_F(GateTest, TogglesWithoutEventsBetweenThemMakeWindows) {
  PageOfBounds(folder_.path()).toggle(100).toggle(200).toggle(300).toggle(400);
  open();
  EXPECT_FALSE(admits(500));
  EXPECT_THAT(windows(), ElementsAre(std::pair(100, 200), std::pair(300, 400)));
  // CUPTI reports a kernel long after it ran.
  const std::vector<RecordingWindow> known = gate_->windows(*log_);
  for (const std::int64_t time_ns : {100, 199, 300}) EXPECT_TRUE(in_windows(known, time_ns)) << time_ns;
  for (const std::int64_t time_ns : {99, 200, 250, 400, 1000}) EXPECT_FALSE(in_windows(known, time_ns)) << time_ns;
}

TEST_F(GateTest, AChangeablePageIsReadAgain) {
  PageOfBounds page(folder_.path());
  page->may_change = 1;
  page.toggle(100);
  open();
  EXPECT_TRUE(admits(1000));
  EXPECT_EQ(kept_until_ns, 1000 + trace::control_poll_ns);
  page.toggle(1000 + trace::control_notice_ns);
  EXPECT_TRUE(admits(1000 + trace::control_poll_ns));
  EXPECT_FALSE(admits(1000 + trace::control_notice_ns));
  EXPECT_EQ(kept_until_ns, INT64_MIN);
  EXPECT_FALSE(admits(1001 + trace::control_notice_ns));
}

TEST_F(GateTest, AMovedToggleNeverTakesEffectAtItsFirstTime) {
  PageOfBounds page(folder_.path());
  page->may_change = 1;
  page.toggle(100).toggle(900'000'000);
  open();
  EXPECT_TRUE(admits(200));
  page->toggles_ns[1] = 50'000'000;
  EXPECT_TRUE(admits(49'999'999));
  EXPECT_FALSE(admits(50'000'000));
  EXPECT_FALSE(admits(950'000'000));
}

TEST_F(GateTest, StepsAreKeptFromTheFirstOnesStartToTheLastOnesEnd) {
  PageOfBounds(folder_.path()).toggle(0).steps(3, 4);
  open();
  for (std::int64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(step("step " + std::to_string(i), 1000 * i, 1000 * i + 900), i == 3 || i == 4) << i;
    EXPECT_EQ(admits(1000 * i + 950), i == 3) << "between steps " << i;
  }
  EXPECT_THAT(windows(), ElementsAre(std::pair(3000, 4900)));
  EXPECT_EQ(bounds().left_out_events, 6u + 7u);
  EXPECT_EQ(bounds().steps_seen, 5u) << "counted until the last requested step";
}

TEST_F(GateTest, StepsMayBeOpenAtEitherEnd) {
  PageOfBounds(folder_.path()).toggle(0).steps(-1, 1);
  open();
  EXPECT_TRUE(admits(5)) << "recorded from the start of the process";
  for (std::int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(step("iter " + std::to_string(i), 1000 * i + 10, 1000 * i + 900), i < 2);
  EXPECT_THAT(windows(), ElementsAre(std::pair(0, 1900)));
}

TEST_F(GateTest, StepsWithoutANumberAreCounted) {
  PageOfBounds(folder_.path()).toggle(0).steps(2, INT64_MAX);
  open();
  std::vector<bool> kept;
  for (std::int64_t i = 0; i < 4; ++i) kept.push_back(step("train_step", 1000 * i, 1000 * i + 900));
  EXPECT_THAT(kept, ElementsAre(false, false, true, true));
  EXPECT_THAT(numbers_, ElementsAre(0, 1, 2, 3));
}

// Like the import: "step 0" to "step 2" in each of two epochs are six steps.
TEST_F(GateTest, RestartedNumbersAreCountedOn) {
  PageOfBounds(folder_.path()).toggle(0).steps(4, 4);
  open();
  std::vector<bool> kept;
  for (std::int64_t i = 0; i < 6; ++i) kept.push_back(step("step " + std::to_string(i % 3), 1000 * i, 1000 * i + 900));
  EXPECT_THAT(kept, ElementsAre(false, false, false, false, true, false));
}

TEST_F(GateTest, ARangeWithANumberIsPreferredAsTheStep) {
  PageOfBounds(folder_.path()).toggle(0).steps(1, 1);
  open();
  for (std::int64_t i = 5; i < 8; ++i) {
    const Gate::Beginning outer = gate_->range_begins(*log_, "train_step", 1000 * i);
    if (outer.loop != nullptr) log_->step() = {outer.loop, outer.number, 0, 0};
    EXPECT_FALSE(step("step " + std::to_string(i), 1000 * i + 10, 1000 * i + 800));
    log_->step().loop = nullptr;
  }
  EXPECT_THAT(numbers_, ElementsAre(5, 6, 7));
  EXPECT_THAT(windows(), IsEmpty());
}

TEST_F(GateTest, PartsOfAStepAreNotSteps) {
  PageOfBounds(folder_.path()).toggle(0).steps(0, 1);
  open();
  for (std::int64_t i = 0; i < 2; ++i) {
    const Gate::Beginning outer = gate_->range_begins(*log_, "step " + std::to_string(i), 1000 * i);
    ASSERT_NE(outer.loop, nullptr);
    log_->step() = {outer.loop, outer.number, 0, 0};
    for (int part = 5; part < 9; ++part) EXPECT_TRUE(step("batch " + std::to_string(part), 1000 * i + part, 0));
    log_->step().loop = nullptr;
    gate_->step_ends(*log_, outer.loop, outer.number, 1000 * i + 900);
  }
  EXPECT_THAT(numbers_, IsEmpty());
  EXPECT_FALSE(step("step 2", 2000, 2900));
  EXPECT_THAT(windows(), ElementsAre(std::pair(0, 1900)));
}

TEST_F(GateTest, TheUserNamesTheRange) {
  PageOfBounds(folder_.path()).toggle(0).steps(1, 1, "block");
  open();
  EXPECT_FALSE(step("step 1", 100, 200));
  EXPECT_FALSE(step("block 0", 300, 400));
  EXPECT_TRUE(step("block 1", 500, 600));
  EXPECT_FALSE(step("block 2", 700, 800));
  EXPECT_THAT(windows(), ElementsAre(std::pair(500, 600)));
}

TEST_F(GateTest, LimitsInStepsAndTimeApplyTogether) {
  PageOfBounds(folder_.path()).toggle(1500).toggle(3500).steps(1, 5);
  open();
  for (std::int64_t i = 0; i < 6; ++i) step("step " + std::to_string(i), 1000 * i, 1000 * i + 900);
  EXPECT_THAT(windows(), ElementsAre(std::pair(1500, 3500)));
}

TEST_F(GateTest, WithStepsTheTimeLimitStartsAtTheFirstStep) {
  PageOfBounds page(folder_.path());
  page.toggle(0).steps(2, INT64_MAX);
  page->step_limit_ns = 1500;
  open();
  for (std::int64_t i = 0; i < 6; ++i) step("step " + std::to_string(i), 1000 * i, 1000 * i + 900);
  EXPECT_THAT(windows(), ElementsAre(std::pair(2000, 3500)));
}

TEST_F(GateTest, NamesOfOtherRangesAreStored) {
  PageOfBounds(folder_.path()).toggle(0).steps(1, 2);
  open();
  for (const char* name : {"forward", "backward", "forward", "other"}) EXPECT_FALSE(step(name, 10, 20));
  EXPECT_EQ(bounds().steps_seen, 0u);
  EXPECT_EQ(std::string(bounds().names_seen), "forward\nbackward\nother\n");
  EXPECT_EQ(bounds().opened, 0u);
}

TEST_F(GateTest, OnAnotherHostOnlyLimitsInStepsApply) {
  PageOfBounds page(folder_.path());
  page.toggle(100).toggle(200).steps(1, 1);
  page->boot_id[0] = 'x';
  testing::internal::CaptureStderr();
  open();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("Limits in time do not apply to it"));
  EXPECT_FALSE(step("step 0", 1000, 1100));
  EXPECT_TRUE(step("step 1", 2000, 2100));
  EXPECT_FALSE(step("step 2", 3000, 3100));
}

TEST_F(GateTest, AChildCountsItsOwnSteps) {
  PageOfBounds(folder_.path()).toggle(0).steps(1, 1);
  open();
  step("step 0", 100, 200);
  gate_->lock();
  gate_->after_fork_in_child();
  gate_->unlock();
  gate_->describe(shard_->header().bounds);
  EXPECT_FALSE(step("train_step", 300, 400));
  EXPECT_TRUE(step("train_step", 500, 600));
  EXPECT_EQ(numbers_.back(), 1);
}

TEST_F(GateTest, AnUnusablePageIsReportedAndEverythingIsKept) {
  const auto refused = [&](const std::string& why) {
    testing::internal::CaptureStderr();
    open();
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::AllOf(HasSubstr("bounds.ddpc cannot be used"), HasSubstr(why)));
    EXPECT_FALSE(gate_->bounded());
    EXPECT_TRUE(admits(1));
  };
  {
    PageOfBounds page(folder_.path());
    page->version = 2;
    refused("version is 2");
  }
  {
    PageOfBounds page(folder_.path());
    page->version = 1;
    page->magic[0] = 'X';
    refused("first bytes");
  }
  std::filesystem::resize_file(folder_.path() / "bounds.ddpc", 100);
  refused("100 bytes");
}

}  // namespace
}  // namespace ddpprof::record
