// The warm-up steps at the front of a recorded job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/analysis/import/load/imported.hpp"
#include "tests/store/shard_builder.hpp"

namespace ddpprof::import {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using trace::RecordType;

constexpr std::int64_t ms = 1'000'000, second = 1'000 * ms;

struct Made {
  std::int64_t duration_ns = 10 * ms;
  std::vector<std::uint64_t> messages_bytes;
};

class Warmup : public testing::Test {
 protected:
  // `make` returns the properties of a rank's step.
  void record(int steps, const std::function<Made(int rank, int step)>& make) {
    std::vector<std::filesystem::path> files;
    for (const std::int32_t rank : {0, 1}) {
      test::ShardBuilder shard;
      shard.header.rank = rank;
      shard.header.world_size = 2;
      shard.header.pid = 100 + rank;
      std::int64_t t = second;
      std::uint64_t id = 0;
      for (int step = 0; step < steps; ++step) {
        const Made made = make(rank, step);
        shard.push(7, t, "step " + std::to_string(step));
        for (const std::uint64_t bytes : made.messages_bytes) {
          trace::RangeStartRecord start{};
          start.event = shard.event(t + static_cast<std::int64_t>(id % 16), "gloo:all_reduce");
          start.event.payload_kind = trace::PayloadKind::int64;
          start.event.payload = bytes;
          start.range_id = ++id;
          shard.add(7, RecordType::range_start, start);
          trace::RangeEndRecord end{};
          end.header.time_ns = t + ms;
          end.range_id = id;
          shard.add(7, RecordType::range_end, end);
        }
        shard.pop(7, t + made.duration_ns);
        t += made.duration_ns + ms;
      }
      files.push_back(shard.write(folder_.path() / ("shard-" + std::to_string(rank) + ".ddps")));
    }
    database_.emplace(store::Database::create(folder_.path() / "made.db", store::Replace::yes));
    ImportOptions options;
    options.files = files;
    const Imported imported = import_into(*database_, options);
    ASSERT_EQ(imported.error, "");
  }
  std::vector<std::int64_t> numbers(const std::string& sql) {
    SQLite::Statement query(database_->sql(), sql);
    std::vector<std::int64_t> values;
    while (query.executeStep()) values.push_back(query.getColumn(0).getInt64());
    return values;
  }
  std::vector<std::int64_t> warmup() {
    return numbers("SELECT DISTINCT step FROM step WHERE kind = 'warmup' ORDER BY step");
  }

  Folder folder_;
  std::optional<store::Database> database_;
};

TEST_F(Warmup, StepsThatAreAllAlikeHaveNone) {
  record(20, [](int, int) { return Made{10 * ms, {4096, 1024}}; });
  EXPECT_THAT(warmup(), IsEmpty());
  EXPECT_THAT(numbers("SELECT count(*) FROM diagnostic WHERE code = 'warmup_recognised'"), ElementsAre(0));
}

TEST_F(Warmup, UntilTheBucketsAreTheFinalOnes) {
  record(6, [](int, int step) { return step == 0 ? Made{10 * ms, {5120}} : Made{10 * ms, {4096, 1024}}; });
  EXPECT_THAT(warmup(), ElementsAre(0));
  EXPECT_THAT(numbers("SELECT count(*) FROM step WHERE kind = 'warmup'"), ElementsAre(2)) << "on both ranks";
  EXPECT_THAT(numbers("SELECT count FROM diagnostic WHERE code = 'warmup_recognised'"), ElementsAre(1));
}

TEST_F(Warmup, UntilTheStepTimeHasSettledOnEveryRank) {
  record(40, [](int rank, int step) {
    return Made{rank == 1 && step < 3 ? 80 * ms : 10 * ms + step % 3 * 10'000, {}};
  });
  const std::vector<std::int64_t> found = warmup();
  ASSERT_GE(found.size(), 3U);
  EXPECT_LE(found.size(), 4U) << "batches of four steps decide";
  EXPECT_EQ(found.front(), 0);
}

TEST_F(Warmup, AMessageOfALaterStepIsNone) {
  record(12, [](int, int step) { return step == 5 ? Made{10 * ms, {4096, 8}} : Made{10 * ms, {4096}}; });
  EXPECT_THAT(warmup(), IsEmpty());
}

TEST_F(Warmup, NeverMoreThanHalf) {
  record(3, [](int, int step) { return Made{10 * ms, {step < 2 ? 4096U : 1024U}}; });
  EXPECT_THAT(warmup(), IsEmpty());
  record(1, [](int, int) { return Made{10 * ms, {4096}}; });
  EXPECT_THAT(warmup(), IsEmpty());
}

TEST_F(Warmup, AStepThatTheMachineInterruptedIsNone) {
  record(30, [](int, int step) { return Made{step == 20 ? 300 * ms : 10 * ms, {4096}}; });
  EXPECT_THAT(warmup(), IsEmpty());
}

}  // namespace
}  // namespace ddpprof::import
