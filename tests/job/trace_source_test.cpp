// When the traces that a job writes itself are complete.
#include "runner/job/trace_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <fstream>
#include <thread>

namespace ddpprof::job {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

// Returns after how long the traces of two ranks counted as complete; the limit if they did not.
std::chrono::duration<double> until_complete(const TraceSource& source, const fs::path& folder,
                                             std::chrono::duration<double> limit) {
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < limit && !source.complete(folder, 2))
    std::this_thread::sleep_for(50ms);
  return std::chrono::steady_clock::now() - begin;
}

TEST(OwnTraces, AreCompleteWhenAllRanksHaveOneThatNoLongerGrows) {
  std::string name = (fs::temp_directory_path() / "ddpprof-traces-XXXXXX").string();
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  const fs::path folder = name;
  const TraceSource source = own_traces();
  EXPECT_EQ(source.environment(folder).at("DDPPROF_TRACE_DIR"), folder.string());
  std::vector<std::string> notes;
  EXPECT_TRUE(source.collect(folder, notes).empty());
  EXPECT_THAT(notes, testing::ElementsAre(testing::HasSubstr("DDPPROF_TRACE_DIR")));
  EXPECT_FALSE(source.complete(folder, 2));
  std::ofstream(folder / "rank0.json") << "{}";
  EXPECT_GE(until_complete(source, folder, 3s), 3s) << "one of two ranks";
  std::ofstream(folder / "rank1.json.gz") << "";
  EXPECT_GE(until_complete(source, folder, 3s), 3s) << "an empty file";
  std::ofstream growing(folder / "rank1.json.gz");
  for (int i = 0; i < 15; ++i) {
    growing << "part" << std::flush;
    EXPECT_FALSE(source.complete(folder, 2));
    std::this_thread::sleep_for(200ms);
  }
  EXPECT_GE(until_complete(source, folder, 60s), 2.5s);
  EXPECT_TRUE(source.complete(folder, 2));
  EXPECT_EQ(source.collect(folder, notes).size(), 2U);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace ddpprof::job
