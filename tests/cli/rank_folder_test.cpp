// Which attempt a rank's files are of, and which run of a folder counts, where torchrun started ranks anew.
#include "cli/rank_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "cli/subcommand.hpp"
#include "runner/host/network.hpp"

namespace ddpprof::cli {
namespace {

namespace fs = std::filesystem;
using launcher::Start;
using testing::ElementsAre;

class RankFolder : public testing::Test {
 protected:
  RankFolder() {
    char name[] = "/tmp/ddpprof-rank-folder-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~RankFolder() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  static Start start(int rank, int attempt = 0) {
    Start start;
    start.starter = launcher::Starter::torchrun;
    start.rank = rank;
    start.world_size = 2;
    start.run_id = "none";
    start.attempt = attempt;
    return start;
  }

  // As `ddpprof worker` leaves it, of a process that has ended; `run`: "" when the ranks did not meet.
  int leave(const std::string& agent, const Start& start, const std::string& run, std::int64_t started) {
    const RankFiles files = claim_rank_files(folder_, start, agent, false);
    const nlohmann::json text = {{"rank", start.rank},
                                 {"world_size", start.world_size},
                                 {"workers", start.world_size},
                                 {"pid", 1},  // never one of ours
                                 {"host", host::host_name()},
                                 {"started_utc_ns", started},
                                 {"strategy", "ddp"},
                                 {"trained_with", "ddp"},
                                 {"scenario_source", ""},
                                 {"scenario_file", "x.yaml"},
                                 {"agent", agent}};
    std::ofstream(files.start) << text;
    if (!run.empty()) std::ofstream(files.run) << nlohmann::json{{"run", run}};
    return std::stoi(files.folder.filename().string().substr(std::string("attempt-").size()));
  }

  // "rank@attempt", by attempt and rank.
  std::vector<std::string> read(int& older) const {
    std::vector<std::string> found;
    for (const RankRecord& record : read_rank_records(folder_, older))
      found.push_back(std::to_string(record.rank) + "@" + std::to_string(record.attempt));
    return found;
  }

  fs::path folder_;
};

TEST_F(RankFolder, AnAgentThatCountsNoRestartGivesItsRankAFolderOfItsOwn) {
  EXPECT_EQ(leave("a", start(0), "first", 1), 0);
  EXPECT_EQ(leave("b", start(1), "first", 1), 0);
  EXPECT_EQ(leave("a", start(0, 0), "second", 2), 1);  // started anew for b's sake
  EXPECT_EQ(leave("b", start(1, 1), "second", 2), 1);
  int older = -1;
  EXPECT_THAT(read(older), ElementsAre("0@1", "1@1"));
  EXPECT_EQ(older, 1);
}

TEST_F(RankFolder, AnotherAgentsFilesAreAnEarlierRuns) {
  leave("a", start(0), "first", 1);
  EXPECT_THROW(leave("c", start(0), "second", 2), Failure);
  EXPECT_THROW(leave("", start(0), "second", 2), Failure);
}

TEST_F(RankFolder, OneRunsRanksMayBeOfDifferentAttempts) {
  leave("a", start(0), "", 1);
  leave("b", start(1), "", 1);
  leave("b", start(1, 1), "", 2);  // twice before the other was started anew
  EXPECT_EQ(leave("b", start(1, 2), "met", 3), 2);
  EXPECT_EQ(leave("a", start(0, 0), "met", 4), 1);
  int older = -1;
  EXPECT_THAT(read(older), ElementsAre("0@1", "1@2"));  // and not rank 1 of attempt 1, which never met
  EXPECT_EQ(older, 1);
}

TEST_F(RankFolder, RanksThatChangedPlacesKeepApart) {
  leave("a", start(0), "first", 1);
  leave("b", start(1), "first", 1);
  EXPECT_EQ(leave("a", start(1, 0), "second", 2), 1);
  EXPECT_EQ(leave("b", start(0, 1), "second", 2), 1);
  int older = -1;
  EXPECT_THAT(read(older), ElementsAre("0@1", "1@1"));
}

TEST_F(RankFolder, ARankThatIsStartedAnewAndNeverMeetsIsNotPassedOver) {
  leave("a", start(0), "first", 1);
  leave("b", start(1), "first", 1);
  leave("b", start(1, 1), "", 2);
  int older = -1;
  EXPECT_THAT(read(older), ElementsAre("1@1"));  // the last attempt did not come together
}

}  // namespace
}  // namespace ddpprof::cli
