// Checks the shards of a program whose recording is switched on and off while it annotates.
#include <gmock/gmock.h>

#include "tests/tracer/control_page.hpp"
#include "tests/tracer/run_program.hpp"

namespace ddpprof::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using trace::RecordType;

std::vector<std::string> names(const Shard& shard, RecordType type) {
  std::vector<std::string> names;
  for (const Record& record : shard.of(type)) names.push_back(shard.name(record));
  return names;
}

TEST(Bounds, KeptRangesAreCompleteAndOthersLeaveNoRecord) {
  TemporaryFolder folder;
  PageOfBounds page(folder.path());
  page->may_change = 1;
  const Outcome outcome = run_annotated({"bounds"}, folder.path());
  ASSERT_TRUE(outcome.exited_well()) << outcome.err;
  std::vector<Shard> shards = walk_all(folder.path());
  ASSERT_THAT(shards, SizeIs(2));
  if (shards[0].parent_pid != getpid()) std::swap(shards[0], shards[1]);
  const Shard &parent = shards[0], &child = shards[1];

  EXPECT_THAT(names(parent, RecordType::push), ElementsAre("on 2", "on 3", "on 2 again"));
  EXPECT_THAT(parent.of(RecordType::pop), SizeIs(3))
      << "every kept range has an end, even if recording was off by then";
  EXPECT_THAT(names(parent, RecordType::range_start), ElementsAre("on start"));
  ASSERT_THAT(parent.of(RecordType::range_end), SizeIs(1));
  EXPECT_EQ(parent.of(RecordType::range_end)[0].as<trace::RangeEndRecord>().range_id,
            parent.of(RecordType::range_start)[0].as<trace::RangeStartRecord>().range_id);
  EXPECT_EQ(parent.diagnostics(trace::DiagnosticCode::unbalanced_pop), 1u) << "the program's own";
  EXPECT_THAT(parent.of(RecordType::window_begin), SizeIs(2));
  EXPECT_THAT(parent.of(RecordType::window_end), SizeIs(1));

  // Names that were registered while recording was off are in the shard.
  ASSERT_THAT(parent.of(RecordType::mark), SizeIs(1));
  const Record mark = parent.of(RecordType::mark)[0];
  EXPECT_EQ(parent.name(mark), "registered while off");
  EXPECT_THAT(names(parent, RecordType::category), ElementsAre("named while off"));
  EXPECT_EQ(mark.as<trace::EventRecord>().category,
            parent.of(RecordType::category)[0].as<trace::CategoryRecord>().category);
  ASSERT_THAT(parent.of(RecordType::domain), SizeIs(1));
  EXPECT_EQ(mark.as<trace::EventRecord>().domain, parent.of(RecordType::domain)[0].as<trace::DomainRecord>().domain);
  for (const auto& [id, text] : parent.strings)  // "off 4" began before the next look at the page
    EXPECT_TRUE(!text.starts_with("off ") || text == "off 4") << text;

  EXPECT_THAT(names(child, RecordType::push), ElementsAre("child on"));
  EXPECT_THAT(child.of(RecordType::pop), SizeIs(1));
  EXPECT_EQ(child.diagnostics(trace::DiagnosticCode::unbalanced_pop), 0u);
}

// Otherwise an event of another thread between the two could begin before the step that opened the window.
TEST(Bounds, AStepAndItsWindowBeginTogether) {
  TemporaryFolder folder;
  PageOfBounds page(folder.path());
  page.steps(3, 8, "thread 0 name").toggle(0);
  ASSERT_TRUE(run_annotated({"threads", "1", "17"}, folder.path()).exited_well());
  const std::vector<Shard> shards = walk_all(folder.path());
  ASSERT_THAT(shards, SizeIs(1));
  ASSERT_THAT(shards[0].of(RecordType::push), SizeIs(6));
  ASSERT_THAT(shards[0].of(RecordType::window_begin), SizeIs(1));
  EXPECT_EQ(shards[0].of(RecordType::push)[0].time_ns, shards[0].of(RecordType::window_begin)[0].time_ns);
}

// Threads notice a toggle at different moments. No event may be lost, and no thread may crash.
TEST(Bounds, TogglesApplyToEveryThread) {
  TemporaryFolder folder;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t now_ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  PageOfBounds page(folder.path());
  page->may_change = 1;
  for (std::int64_t i = 0; i < 200; ++i) page.toggle(now_ns + i * 5'000'000);
  ASSERT_TRUE(run_annotated({"threads", "8", "20000"}, folder.path()).exited_well());
  const std::vector<Shard> shards = walk_all(folder.path());
  ASSERT_THAT(shards, SizeIs(1));
  EXPECT_EQ(shards[0].of(RecordType::push).size(), shards[0].of(RecordType::pop).size());
  EXPECT_EQ(shards[0].dropped, 0u);
  std::ifstream file(shards[0].path, std::ios::binary);
  std::uint64_t left_out = 0;
  file.seekg(offsetof(trace::ShardHeader, bounds) + offsetof(trace::ShardBounds, left_out_events));
  file.read(reinterpret_cast<char*>(&left_out), sizeof left_out);
  EXPECT_EQ(shards[0].of(RecordType::push).size() + left_out, 8u * 20000u) << "each is kept or counted";
}

TEST(Bounds, WithoutAPageTheShardHasNoRecordsOfBounds) {
  TemporaryFolder folder;
  ASSERT_TRUE(run_annotated({"threads", "2", "100"}, folder.path()).exited_well());
  const std::vector<Shard> shards = walk_all(folder.path());
  ASSERT_THAT(shards, SizeIs(1));
  EXPECT_THAT(shards[0].of(RecordType::push), SizeIs(200));
  for (const RecordType type : {RecordType::window_begin, RecordType::window_end, RecordType::step})
    EXPECT_THAT(shards[0].of(type), IsEmpty());
}

}  // namespace
}  // namespace ddpprof::test
