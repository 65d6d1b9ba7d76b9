// The external sorter compared with std::stable_sort, with bounds so small that many runs are written.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <random>
#include <thread>

#include "analysis/import/sort/external_sorter.hpp"
#include "tests/tiers.hpp"

namespace ddpprof::import {
namespace {

using testing::HasSubstr;

struct Record {
  std::int64_t key = 0;
  std::uint64_t pushed = 0;  // distinguishes equal keys
  std::uint64_t payload[2] = {};
  bool operator==(const Record&) const = default;
};
struct ByKey {
  bool operator()(const Record& a, const Record& b) const { return a.key < b.key; }
};
using Sorter = ExternalSorter<Record, ByKey>;

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "ddpprof-sort-test-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  bool empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::filesystem::path path_;
};

std::vector<Record> records_of(std::size_t count, std::size_t key_range, std::size_t displaced, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Record> records(count);
  for (std::size_t i = 0; i < count; ++i) {
    records[i].key = displaced > 0
                         ? static_cast<std::int64_t>(i / 2 + random() % displaced)
                         : static_cast<std::int64_t>(random() % key_range) - static_cast<std::int64_t>(key_range / 2);
    records[i].pushed = i;
    records[i].payload[0] = random();
  }
  return records;
}

std::vector<Record> sorted(std::vector<Record> records) {
  std::ranges::stable_sort(records, ByKey());
  return records;
}

std::vector<Record> all_of(const Sorter& sorter) {
  std::vector<Record> records;
  sorter.for_each([&](const Record& record) { records.push_back(record); });
  return records;
}

TEST(ExternalSorter, SortsAsTheStandardDoesOverManyRuns) {
  std::mt19937 random(7);
  const Folder folder;
  const unsigned rounds = test::long_tests() ? 200 : 50;
  for (unsigned round = 0; round < rounds; ++round) {
    const std::size_t count = random() % 20'000, bound_bytes = random() % (1U << (8 + random() % 14));
    const std::vector<Record> records =
        records_of(count, 1 + random() % 5000, round % 3 == 0 ? 1 + random() % 90 : 0, round);
    Sorter sorter({bound_bytes, folder.path()});
    for (const Record& record : records) sorter.push(record);
    sorter.finish();
    const std::vector<Record> expected = sorted(records);
    ASSERT_EQ(sorter.size(), count);
    ASSERT_TRUE(all_of(sorter) == expected) << round;
    ASSERT_TRUE(all_of(sorter) == expected) << round << ", second pass";
    ASSERT_TRUE(folder.empty());
    if (count * sizeof(Record) > bound_bytes) {
      ASSERT_GT(sorter.runs(), 0U);
    }
  }
}

TEST(ExternalSorter, NothingAndOne) {
  Sorter none, one;
  none.finish();
  EXPECT_EQ(none.cursor().next(), nullptr);
  one.push({5, 0, {}});
  one.finish();
  auto cursor = one.cursor();
  EXPECT_EQ(cursor.next()->key, 5);
  EXPECT_EQ(cursor.next(), nullptr);
  EXPECT_EQ(cursor.next(), nullptr);
}

TEST(ExternalSorter, UpToTheBoundThereIsNoFile) {
  const std::size_t most = 1000;  // two thirds of the bound
  const std::size_t bound_bytes = most * sizeof(Record) * 3 / 2;
  for (const std::size_t count : {most - 1, most, most + 1}) {
    const std::vector<Record> records = records_of(count, 50, 0, 1);
    // The folder does not exist: creating a file would throw.
    Sorter sorter({bound_bytes, count <= most ? "/nowhere" : ""});
    for (const Record& record : records) sorter.push(record);
    sorter.finish();
    EXPECT_EQ(sorter.runs() > 0, count > most) << count;
    EXPECT_TRUE(all_of(sorter) == sorted(records)) << count;
  }
}

TEST(ExternalSorter, InputInOrderIsOneRun) {
  Sorter sorter({10'000, {}});
  for (std::uint64_t i = 0; i < 50'000; ++i) sorter.push({static_cast<std::int64_t>(i / 7), i, {}});
  sorter.finish();
  EXPECT_EQ(sorter.runs(), 1U);
  std::uint64_t next = 0;
  sorter.for_each([&](const Record& record) { ASSERT_EQ(record.pushed, next++); });
  EXPECT_EQ(next, 50'000U);
}

TEST(ExternalSorter, CursorsDoNotDisturbEachOther) {
  const std::vector<Record> records = records_of(60'000, 10'000, 0, 9), expected = sorted(records);
  Sorter sorter({50'000, {}});
  for (const Record& record : records) sorter.push(record);
  sorter.finish();
  ASSERT_GT(sorter.runs(), 10U);
  auto first = sorter.cursor(), second = sorter.cursor();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(*first.next(), expected[i]);
    if (i % 2 == 0) {
      ASSERT_EQ(*second.next(), expected[i / 2]);
    }
  }
  EXPECT_EQ(first.next(), nullptr);
  std::vector<std::jthread> threads;
  std::vector<std::vector<Record>> passes(3);
  for (auto& pass : passes) threads.emplace_back([&] { pass = all_of(sorter); });
  threads.clear();
  for (const auto& pass : passes) EXPECT_TRUE(pass == expected);
}

std::string error_of(const std::filesystem::path& folder) {
  try {
    Sorter sorter({3000, folder});
    for (const Record& record : records_of(100'000, 1000, 0, 2)) sorter.push(record);
    sorter.finish();
  } catch (const TemporaryFileError& error) {
    return error.what();
  }
  return "none";
}

TEST(ExternalSorter, AFolderThatCannotBeWrittenIsNamed) {
  EXPECT_THAT(error_of("/nowhere/at/all"),
              HasSubstr("/nowhere/at/all: a temporary file for sorting cannot be made: No such file or directory"));
  EXPECT_THAT(error_of("/proc/self"), HasSubstr("/proc/self: a temporary file for sorting cannot be made"));
  const Folder folder;
  std::ofstream(folder.path() / "file") << "x";
  EXPECT_THAT(error_of(folder.path() / "file"), HasSubstr("cannot be made: Not a directory"));
}

TEST(ExternalSorter, AFileThatCannotGrowIsToldAndLeavesNothing) {
  const Folder folder;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{100'000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string error = error_of(folder.path());
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(error, HasSubstr(folder.path().string() +
                               ": a temporary file for sorting cannot be written beyond 100000 bytes: File too large"));
  EXPECT_TRUE(folder.empty());
}

TEST(ExternalSorter, IsWrittenFirstAndReadThen) {
  Sorter sorter;
  EXPECT_THROW(sorter.cursor(), std::logic_error);
  sorter.finish();
  EXPECT_THROW(sorter.push({}), std::logic_error);
  EXPECT_THROW(sorter.finish(), std::logic_error);
}

TEST(ExternalSorter, ReleasedRecordsAreCountedAndNotRead) {
  const Folder folder;
  Sorter sorter({3 * sizeof(Record), folder.path()});
  for (int i = 0; i < 10; ++i) sorter.push({});
  sorter.finish();
  ASSERT_GT(sorter.runs(), 0U);
  sorter.release();
  EXPECT_EQ(sorter.size(), 10U);
  EXPECT_EQ(sorter.runs(), 0U);
  EXPECT_THROW(sorter.cursor(), std::logic_error);
}

}  // namespace
}  // namespace ddpprof::import
