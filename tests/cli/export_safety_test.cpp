// `ddpprof export` and `ddpprof import --overwrite` change no file except the one to be replaced.
#include <gmock/gmock.h>

#include "tests/cli/command_line.hpp"

namespace ddpprof::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* step_times =
    "workers,nodes,batch_per_worker,step_time_s\n1,1,8,0.100\n1,1,16,0.181\n2,2,8,0.140\n3,3,8,0.171\n";

class ExportSafety : public CommandLine {
 protected:
  void SetUp() override {
    fs::remove_all(place_ = folder_ / "safety");
    fs::create_directories(place_);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(place_)) found.push_back(entry.path().filename());
    return found;
  }
  std::string at(const std::string& name) const { return (place_ / name).string(); }

  fs::path place_;
};

TEST_F(ExportSafety, AnExportLeavesDatabasesBesideItAlone) {
  const std::string original = read_all(database_);
  for (const std::string format : {"chrome", "csv", "nsys"}) {
    const std::string exported = at("q.partial"), other = at("q/measurement.csv.partial");
    fs::create_directories(at("q"));
    const std::vector<std::string> bystanders = {exported, other, at("q/dp-n2-r0.sqlite.partial")};
    for (const std::string& file : bystanders) fs::copy_file(database_, file);
    const std::string out = format == "chrome" ? at("q/q") : at("q");
    // For a file `q` this is exactly the name of the exported database.
    if (format == "chrome") fs::copy_file(database_, at("q/q.partial"));
    const std::string from = format == "chrome" ? at("q/q.partial") : exported;
    const Outcome outcome = run_ddpprof({"export", from, "--format", format, "--out", out});
    EXPECT_EQ(outcome.code, 0) << outcome.messages;
    EXPECT_TRUE(read_all(from) == original) << format;
    for (const std::string& file : bystanders) EXPECT_TRUE(read_all(file) == original) << format << ' ' << file;
    for (const auto& entry : fs::directory_iterator(at("q")))
      EXPECT_EQ(entry.path().string().find(".partial."), std::string::npos) << "left behind: " << entry.path();
    fs::remove_all(place_);
    fs::create_directories(place_);
  }
}

TEST_F(ExportSafety, AnImportLeavesDatabasesBesideItAlone) {
  const std::string steps = file("safety.csv", step_times), target = at("t.db");
  const std::string original = read_all(database_);
  fs::copy_file(database_, target);
  fs::copy_file(database_, target + ".importing");
  fs::create_directory(target + ".importing.d");
  file("safety/t.db.importing.d/made-by-ddpprof", "");
  file("safety/t.db.importing.d/log", "a rank's");
  for (const bool sound : {true, false}) {
    const std::string from = sound ? steps : file("cut-safety.csv", std::string(step_times).append("4,4,8,"));
    EXPECT_EQ(run_ddpprof({"import", from, "--out", target, "--overwrite"}).code, sound ? 0 : 5);
    EXPECT_TRUE(read_all(target + ".importing") == original);
    EXPECT_EQ(read_all(target + ".importing.d/log"), "a rank's");
    EXPECT_THAT(names(), testing::UnorderedElementsAre("t.db", "t.db.importing", "t.db.importing.d"));
  }
}

TEST_F(ExportSafety, AFolderBesideAReplacedDatabaseThatIsNotOursStays) {
  const std::string steps = file("safety.csv", step_times), target = at("t.db");
  fs::copy_file(database_, target);
  fs::create_directory(target + ".d");
  file("safety/t.db.d/notes", "notes of the user");
  const Outcome refused = run_ddpprof({"import", steps, "--out", target, "--overwrite"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.messages, HasSubstr("t.db.d was not made by ddpprof and is left alone"));
  EXPECT_EQ(read_all(target + ".d/notes"), "notes of the user");
  EXPECT_TRUE(read_all(target) == read_all(database_));
}

}  // namespace
}  // namespace ddpprof::test
