// Tests merging many ranks into one database: memory and clocks.
#include <SQLiteCpp/Statement.h>
#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "analysis/ingest/matching.hpp"
#include "tests/analysis/ingest/ingest_fixture.hpp"
#include "tests/analysis/ingest/simulated_ranks.hpp"
#include "tests/tiers.hpp"

namespace ddpprof::ingest {
namespace {

using test::Ingest;
using test::SimulatedTraining;
using test::TrainingShard;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Merged {
  long long steps = 0;
  long peak_kib = 0;
};

Merged merge(const test::TemporaryFolder& folder, int ranks) {
  const std::filesystem::path shards = folder / ("shards-" + std::to_string(ranks));
  std::filesystem::create_directory(shards);
  const std::string program = DDPPROF_MERGE_SHARDS, file = (folder / "merged.db").string();
  const std::string make = program + " make " + shards.string() + " " + std::to_string(ranks) + " 20";
  EXPECT_EQ(std::system(make.c_str()), 0);
  // The address sanitizer keeps freed memory, so the peak would be the sum of all allocations.
  const std::string command =
      "ASAN_OPTIONS=\"$ASAN_OPTIONS:quarantine_size_mb=4\" " + program + " merge " + shards.string() + " " + file;
  Merged merged;
  double seconds = 0;
  std::FILE* output = popen(command.c_str(), "r");
  EXPECT_EQ(std::fscanf(output, "%lld %lf %ld", &merged.steps, &seconds, &merged.peak_kib), 3);
  EXPECT_EQ(pclose(output), 0);
  std::filesystem::remove_all(shards);
  std::filesystem::remove(file);
  return merged;
}

// Four times as many ranks of the same length. After a rank's steps are written, a few hundred bytes of it stay in
// memory. The rest of the difference (16 and 25 MB) is for sorting the larger file's indexes, which is limited, too.
// With all 680 rows of each rank in memory the peak would be four times as large.
TEST(Merge, MemoryDoesNotGrowWithTheNumberOfRanks) {
  const test::TemporaryFolder folder;
  const int ranks = test::long_tests() ? 250 : 60;
  const Merged few = merge(folder, ranks), many = merge(folder, 4 * ranks);
  EXPECT_EQ(few.steps, 20 * ranks);
  EXPECT_EQ(many.steps, 20 * 4 * ranks);
  EXPECT_LT(many.peak_kib, 2 * few.peak_kib + 8192) << "with " << ranks << " ranks: " << few.peak_kib << " KiB";
}

// The hosts' clocks drift by up to 40 ppm and start 3 s apart. Exchanges of at least 40 µs before and after the
// training give the offset within half of that, and the drift. So every step starts at the same aligned time on all
// ranks, within the uncertainty in the file.
TEST_F(Ingest, StepsOfManyHostsMeetOnRankZerosClock) {
  SimulatedTraining training;
  training.ranks = 12;
  training.ranks_per_host = 2;
  std::vector<TrainingShard> made;
  for (std::int32_t rank = 0; rank < training.ranks; ++rank) made.push_back(training.shard(rank));
  std::vector<TrainingShard*> all;
  for (TrainingShard& shard : made) all.push_back(&shard);
  load(all, ddp(training.ranks));
  EXPECT_THAT(codes(), IsEmpty());
  EXPECT_THAT(rows("SELECT clock_uncertainty_ns, count(*) FROM shard GROUP BY 1"), ElementsAre("0|2", "20000|10"));
  EXPECT_THAT(rows("SELECT count(*) FROM aligned_step a JOIN shard sh ON sh.id = a.shard_id WHERE "
                   "abs(a.aligned_start_ns - (1000000000000 + 100000000 * a.step)) > sh.clock_uncertainty_ns"),
              ElementsAre("0"));
  // Closed form: rank r starts each bucket r µs after rank 0, and all end together. Rank 11's clock is 40 ppm slow,
  // which shortens its 4 ms by 0.16 µs.
  EXPECT_THAT(rows("SELECT sh.rank, min(c.skew_ns) / 1000, max(c.skew_ns) / 1000 FROM collective c JOIN shard sh ON "
                   "sh.id = c.shard_id WHERE sh.rank IN (0, 11) GROUP BY 1"),
              ElementsAre("0|11|11", "11|0|0"));
}

// Gives the same result as one round over all records in memory, with ranks in any order. A rank's second shard does
// not count twice.
TEST_F(Ingest, RanksThatComeInAnyOrderAreMatched) {
  TrainingShard a(0, 3), b(1, 3), c(2, 3), again(1, 3);
  for (TrainingShard* t : {&a, &b, &c}) {
    t->begin_step(0, 1000);
    t->pop(9000);
  }
  a.collective(1, 0, 64, 1100, 1200, 2000);
  b.collective(1, 0, 64, 1100, 1500, 2000);
  again.collective(1, 0, 64, 1100, 1600, 2000);
  a.collective(2, 1, 64, 2100, 2200, 3000);
  b.collective(2, 1, 64, 2100, 2200, 3000);
  c.collective(2, 1, 64, 2100, 2250, 3000);
  load({&c, &again, &b, &a}, ddp(3));
  EXPECT_THAT(rows("SELECT sh.rank, c.sequence, c.transfer_ns, c.skew_ns FROM collective c JOIN shard sh ON sh.id = "
                   "c.shard_id ORDER BY c.sequence, sh.rank, sh.id"),
              ElementsAre("0|1|-|-", "1|1|-|-", "1|1|-|-", "0|2|750|50", "1|2|750|50", "2|2|750|0"));
  EXPECT_THAT(rows("SELECT sh.rank, st.skew_ns FROM step st JOIN shard sh ON sh.id = st.shard_id ORDER BY 1"),
              ElementsAre("0|50", "1|50", "2|0"));
  EXPECT_THAT(rows("SELECT message FROM diagnostic WHERE code = 'collective_unmatched'"),
              ElementsAre(::testing::HasSubstr("missing rank 2")));
}

}  // namespace
}  // namespace ddpprof::ingest
