// ddpprof run --resume: what it rejects, and that a rejection changes nothing. tests/faults/test_resume.py runs real
// measurements.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "runner/host/cpu.hpp"
#include "runner/host/network.hpp"
#include "runner/scenario/read.hpp"
#include "tests/cli/run_program.hpp"
#include "tests/store/shard_builder.hpp"
#include "tracer/store/rows/inserter.hpp"

namespace ddpprof::test {
namespace {

using ::testing::HasSubstr;

// Threads and device are set, so that the plan is equal on every machine. The cores are this machine's.
constexpr const char* text =
    "name: resumed\n"
    "workload:\n"
    "  model: {kind: mlp, widths: [8, 4]}\n"
    "strategies: [ddp]\n"
    "workers: [1, 2]\n"
    "device: cpu\n"
    "measure: {repeats: 1, threads_per_rank: 1}\n";

class ResumeCommand : public testing::Test {
 protected:
  void SetUp() override {
    // Rejections come before any rank starts, so a worker that only answers --about is sufficient.
    write("worker",
          "#!/bin/sh\n"
          "echo '{\"program_version\": \"" DDPPROF_VERSION
          "\", \"torch_version\": \"2.11.0\", \"cuda_version\": \"none\", \"backends\": [\"gloo\"], \"cuda_devices\": "
          "0}'\n");
    std::filesystem::permissions(folder_ / "worker", std::filesystem::perms::owner_all);
    write("tracer.so", "");
    setenv("DDPPROF_WORKER_PROGRAM", (folder_ / "worker").c_str(), 1);
    setenv("DDPPROF_TRACER_LIBRARY", (folder_ / "tracer.so").c_str(), 1);
    write("scenario.yaml", text);
    cores_ = plan_cores();
  }
  void TearDown() override {
    unsetenv("DDPPROF_WORKER_PROGRAM");
    unsetenv("DDPPROF_TRACER_LIBRARY");
  }

  void write(const std::string& name, const std::string& content) { std::ofstream(folder_ / name) << content; }

  Outcome run(std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"run", (folder_ / "scenario.yaml").string(), "--out",
                                      (folder_ / "run.db").string(), "--resume"};
    words.insert(words.end(), more.begin(), more.end());
    return run_ddpprof(words);
  }

  // "… gloo on cpu (2 cores)" in the plan's heading.
  std::int64_t plan_cores() {
    const std::string heading = run({"--dry-run"}).out;
    const std::size_t at = heading.rfind(" cores)");
    return at == std::string::npos ? 0 : std::stoll(heading.substr(heading.rfind('(', at) + 1));
  }

  // The database of an earlier run of `text` that measured N = 1.
  store::MeasurementRow measured() const {
    store::MeasurementRow row;
    row.scenario_id = 1;
    row.cores = cores_;
    row.versions = R"({"ddpprof":")" DDPPROF_VERSION R"(","torch":"2.11.0"})";
    return row;
  }
  void make_database(const store::MeasurementRow& row, const std::string& version = DDPPROF_VERSION) {
    std::filesystem::remove(folder_ / "run.db");
    store::Database database = store::Database::create(folder_ / "run.db");
    store::Inserter<store::MetaRow>(database).insert({"program_version", version});
    const auto read = scenario::read_text(text, "scenario.yaml");
    ASSERT_TRUE(read.problems.empty());
    store::Inserter<store::ScenarioRow>(database).insert(
        {1, "resumed", "scenario.yaml", text, scenario::to_yaml(read.scenario)});
    store::Inserter<store::MeasurementRow>(database).insert(row);
  }

  void expect_refused(const std::vector<std::string>& more, const std::string& message, int code = 2) {
    const std::string before = read_all(folder_ / "run.db");
    const Outcome outcome = run(more);
    EXPECT_EQ(outcome.code, code) << outcome.messages;
    EXPECT_THAT(outcome.messages, HasSubstr(message));
    EXPECT_EQ(read_all(folder_ / "run.db"), before);
  }

  TemporaryFolder folder_;
  std::int64_t cores_ = 0;
};

TEST_F(ResumeCommand, RefusesToBeBoth) {
  make_database(measured());
  expect_refused({"--overwrite"}, "--resume and --overwrite contradict each other");
}

TEST_F(ResumeCommand, NamesTheFirstKeyThatDiffers) {
  make_database(measured());
  expect_refused({"--set", "measure.steps=7", "--set", "workload.seed=3"}, "workload.seed: 1 and 3");
  expect_refused({"--workers", "1,2,4"}, "workers: ");
}

TEST_F(ResumeCommand, RefusesWhatWasMeasuredOtherwise) {
  make_database(measured(), "0.0.1");
  expect_refused({}, "version of ddpprof: 0.0.1 in the database, " DDPPROF_VERSION " now");
  store::MeasurementRow row = measured();
  row.device = "cuda";
  make_database(row);
  expect_refused({}, "device: cuda in the database, cpu now");
  row = measured();
  row.cores = cores_ + 3;
  make_database(row);
  expect_refused({}, "cores: " + std::to_string(cores_ + 3) + " in the database, " + std::to_string(cores_) + " now");
  row = measured();
  row.versions = R"({"torch":"1.0"})";
  make_database(row);
  expect_refused({}, "version of LibTorch: 1.0 in the database, 2.11.0 now");
  row = measured();
  row.world_size = 8;
  make_database(row);
  expect_refused({}, "ddp-n8-r0 (train) is not a measurement of this scenario");
}

// A batch system may assign a node of another kind with the same number of cores.
TEST_F(ResumeCommand, RefusesAnotherModelOfProcessor) {
  const auto here = host::read_cpu(host::Host()).model;
  if (!here) GTEST_SKIP() << here.why;
  store::MeasurementRow row = measured();
  row.versions = R"({"torch":"2.11.0","processor":"Another CPU @ 9 GHz"})";
  make_database(row);
  expect_refused({}, "processor: Another CPU @ 9 GHz in the database, " + *here + " now");
}

TEST_F(ResumeCommand, RefusesWhatWasImported) {
  store::MeasurementRow row = measured();
  row.options = R"({"started_by":"torchrun","job":"none"})";
  make_database(row);
  expect_refused({}, "ddp-n1-r0 was imported: its ranks were started by torchrun");
}

// The worker program of SetUp only answers --about. So no rank trains, and the test checks the messages before that.
TEST_F(ResumeCommand, GoesOnOnAnotherHostOfTheSameKindAndSaysSo) {
  make_database(measured());
  {
    store::Database database = store::Database::open_write(folder_ / "run.db");
    store::ShardRow shard;
    shard.measurement_id = 1;
    shard.host = "gpu03";
    store::Inserter<store::ShardRow>(database).insert(shard);
  }
  const Outcome outcome = run();
  EXPECT_THAT(outcome.messages, HasSubstr("1 of 2 configurations are measured and kept"));
  EXPECT_THAT(outcome.messages, HasSubstr("Measured on gpu03 so far, from now on on " + host::host_name() + "."));
}

// --resume accepts the database that a run leaves.
TEST_F(ResumeCommand, ARunKeepsTheModelOfItsProcessor) {
  const auto here = host::read_cpu(host::Host()).model;
  if (!here) GTEST_SKIP() << here.why;
  EXPECT_NE(run().code, 0) << "the worker program of SetUp does not train";
  store::Database database = store::Database::open_read(folder_ / "run.db");
  const std::string versions = database.sql().execAndGet("SELECT versions FROM measurement").getString();
  EXPECT_EQ(nlohmann::json::parse(versions).value("processor", ""), *here) << versions;
}

TEST_F(ResumeCommand, RefusesWhatIsNoRunsDatabase) {
  {
    store::Database database = store::Database::create(folder_ / "run.db");
    store::Inserter<store::MetaRow>(database).insert({"program_version", DDPPROF_VERSION});
  }
  expect_refused({}, "it has no scenario");
  write("run.db", "notes of the user");
  expect_refused({}, "not an SQLite database", 5);
}

// This process holds the lock of the folder, as a run does.
class Measuring {
 public:
  explicit Measuring(const std::filesystem::path& database) {
    const std::filesystem::path folder = database.string() + ".d";
    std::filesystem::create_directory(folder);
    marker_ = open((folder / "made-by-ddpprof").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    EXPECT_EQ(fcntl(marker_, F_SETLK, &whole), 0);
    message_ = "another run or import uses " + folder.string() + " (process " + std::to_string(getpid()) + ")";
  }
  ~Measuring() { close(marker_); }
  Measuring(const Measuring&) = delete;
  Measuring& operator=(const Measuring&) = delete;

  const std::string& message() const { return message_; }

 private:
  int marker_ = -1;
  std::string message_;
};

TEST_F(ResumeCommand, RefusesWhileAnotherRunMeasures) {
  make_database(measured());
  const Measuring other(folder_ / "run.db");
  write("run.db.d/log", "a rank's");
  expect_refused({}, other.message());
  const std::string database = (folder_ / "run.db").string(), before = read_all(database);
  write("steps.csv", "workers,nodes,batch_per_worker,step_time_s\n1,1,8,0.100\n2,2,8,0.140\n");
  const std::vector<std::string> replacing[] = {{"run", (folder_ / "scenario.yaml").string()},
                                                {"import", (folder_ / "steps.csv").string()}};
  for (std::vector<std::string> words : replacing) {
    words.insert(words.end(), {"--out", database, "--overwrite"});
    const Outcome replaced = run_ddpprof(words);
    EXPECT_EQ(replaced.code, 2) << replaced.messages;
    EXPECT_THAT(replaced.messages, HasSubstr(other.message()));
    EXPECT_EQ(read_all(database), before) << words.front();
    EXPECT_EQ(read_all(folder_ / "run.db.d/log"), "a rank's") << words.front();
  }
}

TEST_F(ResumeCommand, LeavesADatabaseAloneThatAnotherRunIsMaking) {
  write("run.db", "");  // an empty file: the tables are not committed yet
  {
    const Measuring other(folder_ / "run.db");
    expect_refused({}, other.message());
    EXPECT_TRUE(std::filesystem::exists(folder_ / "run.db"));
  }
  // Killed at that moment: the file is replaced without --overwrite.
  EXPECT_THAT(run().messages, HasSubstr("There is no " + (folder_ / "run.db").string() + " to resume"));
  EXPECT_GT(std::filesystem::file_size(folder_ / "run.db"), 0u);
}

TEST_F(ResumeCommand, AnImportKeepsNoFolderBesideItsDatabase) {
  make_database(measured());
  std::filesystem::create_directory(folder_ / "run.db.d");
  write("run.db.d/made-by-ddpprof", "");
  write("run.db.d/log", "a rank's");
  write("steps.csv", "workers,nodes,batch_per_worker,step_time_s\n1,1,8,0.100\n2,2,8,0.140\n");
  for (const std::string out : {"run.db", "new.db"}) {
    const Outcome imported =
        run_ddpprof({"import", (folder_ / "steps.csv").string(), "--out", (folder_ / out).string(), "--overwrite"});
    EXPECT_EQ(imported.code, 0) << imported.messages;
    EXPECT_FALSE(std::filesystem::exists(folder_ / (out + ".d"))) << out;
  }
}

// Only the folder's lock shows that no other run uses the database. Without the folder nothing is replaced.
TEST_F(ResumeCommand, ADatabaseIsReplacedOnlyOnceItsFolderIsTaken) {
  make_database(measured());
  const std::string before = read_all(folder_ / "run.db");
  std::filesystem::create_symlink(folder_ / "nowhere", folder_ / "run.db.d");
  const Outcome refused =
      run_ddpprof({"run", (folder_ / "scenario.yaml").string(), "--out", (folder_ / "run.db").string(), "--overwrite"});
  EXPECT_EQ(refused.code, 4) << refused.messages;
  EXPECT_THAT(refused.messages, HasSubstr("cannot make the folder " + (folder_ / "run.db.d").string()));
  EXPECT_EQ(read_all(folder_ / "run.db"), before);
}

TEST_F(ResumeCommand, AFileThatIsRefusedGetsNoFolder) {
  write("run.db", "notes of the user");
  for (const std::string option : {"--resume", "--overwrite"}) {
    const Outcome refused =
        run_ddpprof({"run", (folder_ / "scenario.yaml").string(), "--out", (folder_ / "run.db").string(), option});
    EXPECT_NE(refused.code, 0);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run.db.d")) << option;
    EXPECT_EQ(read_all(folder_ / "run.db"), "notes of the user");
  }
}

}  // namespace
}  // namespace ddpprof::test
