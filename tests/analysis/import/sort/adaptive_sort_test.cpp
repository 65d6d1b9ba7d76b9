// The adaptive sort compared with std::stable_sort, for the orders that occur in traces.
#include <gtest/gtest.h>

#include <random>

#include "analysis/import/sort/adaptive_sort.hpp"

namespace ddpprof::import {
namespace {

struct Record {
  std::int64_t key = 0;
  std::uint32_t pushed = 0;  // distinguishes equal keys
  bool operator==(const Record&) const = default;
};
constexpr auto by_key = [](const Record& a, const Record& b) { return a.key < b.key; };

void expect_sorted_as_the_standard_does(std::vector<Record> records, const std::string& shape) {
  for (std::size_t i = 0; i < records.size(); ++i) records[i].pushed = static_cast<std::uint32_t>(i);
  std::vector<Record> expected = records;
  std::ranges::stable_sort(expected, by_key);
  adaptive_stable_sort(std::span<Record>(records), by_key);
  EXPECT_TRUE(records == expected) << shape << ", " << records.size() << " records";
}

TEST(AdaptiveSort, SortsAsTheStandardDoesWhateverTheShape) {
  std::mt19937 random(11);
  std::vector<std::size_t> sizes{0, 1, 2, 31, 32, 33, 63, 64, 65, 10'000};
  for (int i = 0; i < 100; ++i) sizes.push_back(random() % 3000);
  for (const std::size_t size : sizes) {
    std::vector<Record> ascending(size), descending(size), few_keys(size), shaken(size), streams(size), noise(size);
    for (std::size_t i = 0; i < size; ++i) {
      const auto at = static_cast<std::int64_t>(i);
      ascending[i].key = at / 3;
      descending[i].key = -at / 3;
      few_keys[i].key = random() % 3;
      shaken[i].key = at + random() % 20;
      streams[i].key = at % 700;  // events of several threads, one thread after the other
      noise[i].key = static_cast<std::int32_t>(random());
    }
    std::vector<Record> late = ascending;
    if (size > 0) late.back().key = -1;
    expect_sorted_as_the_standard_does(ascending, "ascending");
    expect_sorted_as_the_standard_does(descending, "descending");
    expect_sorted_as_the_standard_does(few_keys, "few keys");
    expect_sorted_as_the_standard_does(shaken, "shaken");
    expect_sorted_as_the_standard_does(streams, "streams");
    expect_sorted_as_the_standard_does(noise, "noise");
    expect_sorted_as_the_standard_does(late, "one late");
  }
}

TEST(AdaptiveSort, OrderedRunsAreComparedAboutOnce) {
  // The header's claim for runs that follow each other: one comparison per record and a few per run.
  std::size_t comparisons = 0;
  std::vector<Record> records(100'000);
  for (std::size_t i = 0; i < records.size(); ++i) records[i].key = static_cast<std::int64_t>(i);
  std::swap(records[50'000], records[50'001]);
  adaptive_stable_sort(std::span<Record>(records), [&](const Record& a, const Record& b) {
    ++comparisons;
    return by_key(a, b);
  });
  EXPECT_TRUE(std::ranges::is_sorted(records, by_key));
  EXPECT_LT(comparisons, 100'200U);
}

}  // namespace
}  // namespace ddpprof::import
