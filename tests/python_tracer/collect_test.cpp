// `ddpprof record` reads the files of the Python module: the lines are those that python/injected writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "runner/python_tracer/python_tracer.hpp"

namespace ddpprof::python_tracer {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CollectTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("collect-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void line(const std::string& text) { std::ofstream(folder_ / "python.jsonl", std::ios::app) << text << '\n'; }
  void traced(int pid, int rank, int attempt) {
    const std::string name = "rank" + std::to_string(rank) + "-" + std::to_string(pid) + ".json";
    std::ofstream(folder_ / name) << "{}";
    line(R"({"event": "torch", "pid": )" + std::to_string(pid) + R"(, "rank": ")" + std::to_string(rank) + "\"}");
    line(R"({"event": "traced", "pid": )" + std::to_string(pid) + R"(, "rank": null, "file": ")" + name +
         R"(", "rank_number": )" + std::to_string(rank) + R"(, "attempt": )" + std::to_string(attempt) + "}");
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const fs::path& file : collect(folder_).files) found.push_back(file.filename().string());
    return found;
  }
  fs::path folder_;
};

TEST_F(CollectTest, AnEmptyFolderSaysWhatMayBeTheReason) {
  const Traces traces = collect(folder_);
  EXPECT_THAT(traces.files, IsEmpty());
  EXPECT_THAT(traces.notes, IsEmpty());
  EXPECT_THAT(traces.nothing, HasSubstr("python -S, -I or -E"));
  EXPECT_THAT(collect(folder_ / "missing").nothing, HasSubstr("no Python process"));
}

TEST_F(CollectTest, OneFileOfEachRankInOrder) {
  traced(30, 1, 0);
  traced(20, 0, 0);
  traced(40, 10, 0);
  EXPECT_THAT(names(), ElementsAre("rank0-20.json", "rank1-30.json", "rank10-40.json"));
  EXPECT_THAT(collect(folder_).notes, IsEmpty());
  EXPECT_EQ(collect(folder_).nothing, "");
}

// Process ids of several hosts may be equal, so each host has a file of its own.
TEST_F(CollectTest, HostsHaveFilesOfTheirOwn) {
  for (const char* host : {"a", "b"})
    std::ofstream(folder_ / (std::string("python-") + host + ".jsonl"))
        << R"({"event": "torch", "pid": 5, "rank": ")" << (*host == 'a' ? 0 : 1) << "\"}\n"
        << R"({"event": "problem", "pid": 5, "rank": null, "reason": "of host )" << host << "\"}\n";
  EXPECT_THAT(collect(folder_).notes, ElementsAre("rank 0: of host a", "rank 1: of host b"));
}

TEST_F(CollectTest, TheLastTrainingOfTheAttemptWithTheMostRanks) {
  traced(20, 0, 0);
  traced(21, 1, 0);
  traced(30, 0, 1);
  traced(31, 1, 1);
  traced(32, 0, 1);  // the same rank trains again
  traced(40, 0, 2);  // its other rank was killed
  EXPECT_THAT(names(), ElementsAre("rank0-32.json", "rank1-31.json"));
  EXPECT_THAT(collect(folder_).notes, ElementsAre(HasSubstr("4 earlier traces")));
}

TEST_F(CollectTest, ReasonsAreNamedOnceWithTheirProcesses) {
  for (const char* pid : {"7", "8"})
    line(std::string(R"({"event": "problem", "reason": "it is full", "pid": )") + pid + R"(, "rank": ")" + pid + "\"}");
  line(R"({"event": "tracing", "pid": 9, "rank": "2"})");
  const Traces traces = collect(folder_);
  EXPECT_THAT(traces.notes,
              ElementsAre("rank 7, rank 8: it is full", HasSubstr("rank 2: it ended during its traced steps")));
}

TEST_F(CollectTest, ReasonsForNoTrace) {
  line(R"({"event": "python", "pid": 1, "rank": null})");
  EXPECT_THAT(collect(folder_).nothing, HasSubstr("none of 1 Python process with"));
  line(R"({"event": "torch", "pid": 1, "rank": null})");
  EXPECT_THAT(collect(folder_).nothing, HasSubstr("torch was imported"));
  line(R"({"event": "ended", "pid": 1, "rank": null, "steps": 1})");
  EXPECT_THAT(collect(folder_).nothing, HasSubstr("ended after 1 step,"));
  line(R"({"event": "native", "pid": 1, "rank": null})");
  EXPECT_THAT(collect(folder_).nothing, HasSubstr("process 1 used CUDA or NVTX"));
}

TEST_F(CollectTest, DamagedLinesAndForeignPathsAreNoTraces) {
  line(R"({"event": "traced", "pid": 1, "file": "../../etc/passwd", "rank_number": 0})");
  line(R"({"event": "traced", "pid": 2, "file": 5, "rank_number": "x"})");
  line(R"({"event": "traced", "pid": )");
  line("[1, 2]");
  line(R"({"event": 4, "pid": "x", "rank": 3})");
  EXPECT_THAT(names(), IsEmpty());
}

}  // namespace
}  // namespace ddpprof::python_tracer
