// To which attempt a rank's files belong, and which run of a folder counts, after restarts by torchrun.
#include "analysis/import/ranks/rank_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "analysis/import/ranks/error.hpp"
#include "analysis/import/ranks/rank_runs.hpp"
#include "runner/host/network.hpp"

namespace ddpprof::ranks {
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

  // Writes the files of a process that has ended, like `ddpprof worker`. `run`: "" if the ranks did not meet.
  int leave(const std::string& agent, const Start& start, const std::string& run, std::int64_t started) {
    const RankFiles files = claim_rank_files(folder_, start, agent, false);
    const nlohmann::json text = {{"rank", start.rank},
                                 {"world_size", start.world_size},
                                 {"workers", start.world_size},
                                 {"pid", 1},  // never a process of ddpprof
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
  EXPECT_EQ(leave("a", start(0, 0), "second", 2), 1);  // restarted because b failed
  EXPECT_EQ(leave("b", start(1, 1), "second", 2), 1);
  int older = -1;
  EXPECT_THAT(read(older), ElementsAre("0@1", "1@1"));
  EXPECT_EQ(older, 1);
}

TEST_F(RankFolder, AnotherAgentsFilesAreAnEarlierRuns) {
  leave("a", start(0), "first", 1);
  EXPECT_THROW(leave("c", start(0), "second", 2), UnusableFolder);
  EXPECT_THROW(leave("", start(0), "second", 2), UnusableFolder);
}

TEST_F(RankFolder, OneRunsRanksMayBeOfDifferentAttempts) {
  leave("a", start(0), "", 1);
  leave("b", start(1), "", 1);
  leave("b", start(1, 1), "", 2);  // restarted twice before the other rank was restarted
  EXPECT_EQ(leave("b", start(1, 2), "met", 3), 2);
  EXPECT_EQ(leave("a", start(0, 0), "met", 4), 1);
  int older = -1;
  EXPECT_THAT(read(older), ElementsAre("0@1", "1@2"));  // without rank 1 of attempt 1, which never met the others
  EXPECT_EQ(older, 1);
}

// If the other ranks' files are gathered into the folder, their results of an earlier run are rejected too.
TEST_F(RankFolder, Rank0ThatGathersFindsAnEarlierRunsOtherRanks) {
  leave("a", start(1), "first", 1);
  const RankFiles earlier = rank_files(folder_, 0, 1);
  std::ofstream(earlier.result) << "{}";
  EXPECT_NO_THROW(claim_rank_files(folder_, start(0), "c", false));
  EXPECT_THROW(claim_rank_files(folder_, start(0), "c", false, true), UnusableFolder);
  EXPECT_NO_THROW(claim_rank_files(folder_, start(0), "c", true, true));
  EXPECT_TRUE(fs::exists(earlier.start)) << "removed when the new file arrives";
}

// The rank may belong to this run if the folder is shared: rank 0 does not see its process if they are in different
// containers, and it may have another spelling of MASTER_ADDR.
TEST_F(RankFolder, Rank0ThatGathersLetsARankBeThatHasNotEnded) {
  leave("a", start(1), "", 1);
  for (const std::string& host : {std::string("elsewhere"), host::host_name()}) {
    std::ofstream(rank_files(folder_, 0, 1).start)
        << nlohmann::json{{"rank", 1}, {"world_size", 2}, {"pid", 1}, {"host", host}, {"meeting", "localhost:1/none"}};
    EXPECT_NO_THROW(claim_rank_files(folder_, start(0), "c", false, true)) << host;
  }
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
  EXPECT_THAT(read(older), ElementsAre("1@1"));  // the ranks of the last attempt did not meet
}

// CLOCK_REALTIME may be changed between two attempts; the agent's numbers are not.
TEST_F(RankFolder, OfOneAgentTheLastAttemptCountsWhateverTheClockSaid) {
  leave("a", start(0), "first", 1000);
  leave("b", start(1), "first", 1000);
  EXPECT_EQ(leave("a", start(0, 1), "second", 400), 1);
  EXPECT_EQ(leave("b", start(1, 1), "second", 400), 1);
  int older = -1;
  EXPECT_THAT(read(older), ElementsAre("0@1", "1@1"));
  EXPECT_EQ(older, 1);
}

TEST_F(RankFolder, ARankOfTheSameAgentThatIsStartedAnewIsKnownByItsAttempt) {
  leave("a", start(0), "first", 1000);
  leave("a", start(1), "first", 1000);
  leave("a", start(0, 1), "", 400);
  int older = -1;
  EXPECT_THAT(read(older), ElementsAre("0@1"));  // the ranks of the last attempt did not meet
}

TEST_F(RankFolder, ARunOfWhichAnAgentStartedARankAnewIsNotTheLast) {
  leave("a", start(0), "first", 1000);
  leave("b", start(1), "first", 1000);
  EXPECT_EQ(leave("a", start(0, 1), "", 400), 1);  // with a clock that was set back
  int older = -1;
  EXPECT_THAT(read(older), ElementsAre("0@1"));
  leave("b", start(1, 1), "first",
        2000);  // contradictory records, possible in a folder of another host: any choice is correct
  EXPECT_NO_THROW(read(older));
}

// A complete result as ddpprof-worker writes it, without unused values.
nlohmann::json sound_result() {
  return nlohmann::json::parse(R"({
    "program_version": "0.1.0", "torch_version": "2.11.0", "cuda_version": "none", "host": "gpu00", "pool": "gpu00",
    "device": "cpu", "backend": "gloo", "parameter_hash": "00ff", "traced": false, "final_loss": null,
    "parameter_count": 10, "parameter_bytes": 40, "data_samples": 100, "samples_per_step": 32, "peak_rss_bytes": 4096,
    "threads": 1, "cores": 2, "host_cores": 2, "pool_cores": 2, "pid": 71, "wall_ns": 1000000,
    "step_ns": {"warmup": [5], "measured": [4, 4], "unwrapped": []}, "warmup": {"steps": 1, "settled": true},
    "samples": [[1024, 0, 500, 400], [1024, 1, 500]],
    "checkpoint": {"resumed": "a.pt", "resumed_step": 5, "schedule_step": 4, "saved": "",
                   "adascale": {"steps": 5, "base_steps": 7.5, "base_batch": 16, "gradient_sqr": 0.1, "trace_samples": 2}},
    "warnings": [{"code": "c", "message": "m", "advice": "a"}],
    "memory": [{"device": 0, "held_bytes": 1, "peak_bytes": 2}],
    "conditions": {"window_ns": 9, "cpu_ns": 8, "voluntary_switches": 1, "involuntary_switches": 0, "major_faults": 0,
                   "host": {"cpus": 2, "spent_ns": {"user": 5, "system": 1, "interrupt": 0, "idle": -1, "steal": 0},
                            "frequency_hz": [1e9, 2e9], "load": [0.5, 1.5], "thermal_throttles": [0, 1]}}})");
}

TEST_F(RankFolder, AResultIsLookedAtBeforeItIsRead) {
  const struct {
    const char *place, *value, *found, *expected;
  } wrong[] = {
      {"/wall_ns", "\"long\"", "'wall_ns' is a text", "a whole number from 0 to 72057594037927936"},
      {"/wall_ns", "-1", "'wall_ns' is -1", "a whole number from 0"},
      {"/wall_ns", "18446744073709551615", "'wall_ns' is 18446744073709551615", "a whole number from 0"},
      {"/wall_ns", "1.5", "'wall_ns' is 1.5", "a whole number from 0"},
      {"/host", "5", "'host' is 5", "a text"},
      {"/pool", "null", "'pool' is null", "a text"},
      {"/device", "[]", "'device' is a list", "a text"},
      {"/traced", "1", "'traced' is 1", "true or false"},
      {"/pool_cores", "\"2\"", "'pool_cores' is a text", "a whole number from 0 to 1048576"},
      {"/threads", "4611686018427387904", "'threads' is 4611686018427387904", "a whole number from 0 to 1048576"},
      {"/step_ns", "[1]", "'step_ns' is a list", "an object"},
      {"/step_ns/measured", "7", "'step_ns.measured' is 7", "a list of whole numbers"},
      {"/step_ns/measured/1", "\"4\"", "'step_ns.measured' is a text", "a list of whole numbers"},
      {"/samples/0", "{}", "'samples' is an object", "lists of bytes, iteration, ns"},
      {"/samples/0", "[1, 2]", "'samples' is a list", "lists of bytes, iteration, ns"},
      {"/samples/1/2", "true", "'samples' is true or false", "whole numbers: lists of bytes, iteration, ns"},
      {"/warmup", "true", "'warmup' is true or false", "an object"},
      {"/warmup/settled", "\"yes\"", "'warmup.settled' is a text", "true or false"},
      {"/checkpoint/resumed", "1", "'checkpoint.resumed' is 1", "a text"},
      {"/checkpoint/resumed_step", "\"5\"", "'checkpoint.resumed_step' is a text", "a whole number from 0"},
      {"/checkpoint/schedule_step", "-1", "'checkpoint.schedule_step' is -1", "a whole number from 0"},
      {"/checkpoint/adascale", "[]", "'checkpoint.adascale' is a list", "an object"},
      {"/checkpoint/adascale/base_steps", "-0.5", "'checkpoint.adascale.base_steps' is -0.5", "a number of 0 or more"},
      {"/checkpoint/adascale/trace_samples", "null", "'checkpoint.adascale.trace_samples' is null", "a number of 0 or"},
      {"/warnings", "{}", "'warnings' is an object", "a list of objects"},
      {"/warnings/0", "\"w\"", "'warnings' is a text", "objects with code, message and advice"},
      {"/warnings/0/code", "1", "'warnings.code' is 1", "a text"},
      {"/memory/0/peak_bytes", "\"1\"", "'memory.peak_bytes' is a text", "a whole number from 0"},
      {"/conditions", "\"busy\"", "'conditions' is a text", "an object"},
      {"/conditions/cpu_ns", "[]", "'conditions.cpu_ns' is a list", "a whole number from 0"},
      {"/conditions/host/load", "[1]", "'conditions.host.load' is a list", "two numbers from 0"},
      {"/conditions/host/thermal_throttles/1", "1e300", "'conditions.host.thermal_throttles' is 1e+300", "two numbers"},
      {"/conditions/host/spent_ns", "3", "'conditions.host.spent_ns' is 3", "an object"},
      {"/conditions/host/spent_ns/user", "null", "'conditions.host.spent_ns.user' is null", "a number from -"},
  };
  leave("a", start(0), "first", 1);
  const fs::path path = rank_files(folder_, 0, 0).result;
  int older = 0;
  std::ofstream(path) << sound_result();
  EXPECT_NO_THROW(read_rank_records(folder_, older));
  for (const auto& one : wrong) {
    nlohmann::json result = sound_result();
    result[nlohmann::json::json_pointer(one.place)] = nlohmann::json::parse(one.value);
    std::ofstream(path) << result;
    try {
      read_rank_records(folder_, older);
      ADD_FAILURE() << one.place << ": " << one.value;
    } catch (const InvalidRecords& failure) {
      EXPECT_THAT(failure.text(), testing::HasSubstr(path.string() + ": " + one.found + " (expected " + one.expected));
    }
  }
}

// Also for unused values: copying a value recurses per level, and the stack is limited.
TEST_F(RankFolder, AFileThatNestsDeeplyIsRefused) {
  leave("a", start(0), "first", 1);
  const RankFiles files = rank_files(folder_, 0, 0);
  const auto nested = [](const nlohmann::json& facts, std::size_t depth) {
    std::string text = facts.dump();
    text.back() = ',';
    return text + "\"more\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  int older = 0;
  std::ofstream(files.result) << nested(sound_result(), 63);
  EXPECT_NO_THROW(read_rank_records(folder_, older));
  for (const std::size_t depth : {64, 100'000}) {
    std::ofstream(files.result) << nested(sound_result(), depth);
    try {
      read_rank_records(folder_, older);
      ADD_FAILURE() << depth << " was accepted";
    } catch (const InvalidRecords& failure) {
      EXPECT_THAT(failure.text(), testing::HasSubstr(files.result.string() + " nests deeper than 64 levels"));
    }
  }
}

TEST_F(RankFolder, ARankThatWasNotTracedSaysHowLongItsStepsTook) {
  leave("a", start(0), "first", 1);
  nlohmann::json result = sound_result();
  result.erase("step_ns");
  std::ofstream(rank_files(folder_, 0, 0).result) << result;
  int older = 0;
  try {
    read_rank_records(folder_, older);
    ADD_FAILURE() << "was accepted";
  } catch (const UserError& failure) {
    EXPECT_THAT(failure.text(), testing::HasSubstr("'step_ns' is missing (expected the duration of each step"));
  }
  result["traced"] = true;
  std::ofstream(rank_files(folder_, 0, 0).result) << result;
  EXPECT_NO_THROW(read_rank_records(folder_, older));
}

TEST_F(RankFolder, AHundredYearsOfStepsAreNone) {
  leave("a", start(0), "first", 1);
  nlohmann::json result = sound_result();
  result["step_ns"]["measured"] = std::vector<std::int64_t>(100, std::int64_t{1} << 56);
  std::ofstream(rank_files(folder_, 0, 0).result) << result;
  int older = 0;
  EXPECT_THROW(read_rank_records(folder_, older), InvalidRecords);
}

TEST_F(RankFolder, OfAMillionRanksThatAreMissingEightAreNamed) {
  Start alone = start(0);
  alone.world_size = 1 << 20;
  leave("a", alone, "first", 1);
  std::ofstream(rank_files(folder_, 0, 0).scenario) << "name: x\nworkload:\n  model: {kind: linear, in: 10, out: 2}\n";
  int older = 0;
  std::vector<std::string> notes;
  try {
    group_runs(read_rank_records(folder_, older), false, notes);
    ADD_FAILURE() << "was accepted";
  } catch (const UserError& failure) {
    EXPECT_THAT(failure.text(), testing::HasSubstr("ranks 1, 2, 3, 4, 5, 6, 7, 8 and 1048567 more of 1048576"));
    EXPECT_LT(failure.text().size(), 1000u);
  }
}

TEST_F(RankFolder, ARunOfWhichNoRankLivedIsOfTheBackendItAskedFor) {
  const struct {
    const char *keys, *device, *backend;
  } asked[] = {{"", "cpu", "gloo"},
               {"backend: mpi\n", "cpu", "mpi"},
               {"device: cuda\n", "cuda", "nccl"},
               {"device: cuda\nbackend: gloo\n", "cuda", "gloo"},
               {"backend: nccl\n", "cuda", "nccl"}};
  leave("a", start(0), "first", 1);
  for (const auto& one : asked) {
    std::ofstream(rank_files(folder_, 0, 0).scenario)
        << one.keys << "name: x\nworkload:\n  model: {kind: linear, in: 10, out: 2}\n";
    int older = 0;
    std::vector<std::string> notes;
    const std::vector<RankRun> runs = group_runs(read_rank_records(folder_, older), true, notes);
    ASSERT_EQ(runs.size(), 1u);
    const MeasurementSetup setup = setup_of(runs.front(), common_scenario(runs));
    EXPECT_EQ(setup.device, one.device) << one.keys;
    EXPECT_EQ(setup.backend, one.backend) << one.keys;
  }
}

}  // namespace
}  // namespace ddpprof::ranks
