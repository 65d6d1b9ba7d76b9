// Damaged, truncated and locked databases: every command rejects them with a message, or prints the same bytes as for
// the undamaged database. A crash ends this process.
#include <SQLiteCpp/Database.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "cli/subcommand.hpp"
#include "tests/analysis/report/synthetic_run.hpp"
#include "tests/store/shard_builder.hpp"
#include "tests/tiers.hpp"

namespace ddpprof {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::HasSubstr;

struct Answer {
  int code = -1;
  std::string out, messages;
};

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class DamagedDatabase : public testing::Test {
 protected:
  void SetUp() override {
    test::SyntheticRun(database_).fill();
    fs::copy_file(database_, sound_);
    bytes_ = bytes_of(database_);
    for (const auto& command : commands_) {
      expected_.push_back(run(command));
      ASSERT_EQ(expected_.back().code, 0) << expected_.back().messages;
      ASSERT_GT(expected_.back().out.size(), 100U);
    }
  }

  // The output of the command, and the files that it wrote.
  Answer run(const std::vector<std::string>& command) {
    std::ostringstream out, messages;
    cli::Context context{.out = out, .messages = messages};
    context.quiet = true;
    const fs::path file = folder_ / "trace.json";
    fs::remove(file);
    Answer answer;
    answer.code = cli::run_command_line(command, context);
    answer.out = out.str() + bytes_of(file);
    answer.messages = messages.str();
    return answer;
  }

  // Runs the commands on the current file. Returns true if the file was rejected.
  bool refused(std::size_t command) {
    const Answer answer = run(commands_[command]);
    if (answer.code == 0) {
      EXPECT_EQ(answer.out, expected_[command].out);
      return false;
    }
    EXPECT_EQ(answer.code, 5) << answer.messages;
    EXPECT_THAT(answer.messages, HasSubstr(database_.string()));
    EXPECT_THAT(answer.messages,
                AnyOf(HasSubstr("damaged"), HasSubstr("truncated"), HasSubstr("cut off"), HasSubstr("is empty"),
                      HasSubstr("not an SQLite database"), HasSubstr("but not ddpprof's")));
    EXPECT_TRUE(answer.out.empty()) << "no output for a rejected file";
    return true;
  }

  test::TemporaryFolder folder_;
  const fs::path database_ = folder_ / "run.db", sound_ = folder_ / "sound.db";
  const std::vector<std::vector<std::string>> commands_ = {
      {"report", database_.string(), "--report", "all"},
      {"export", database_.string(), "--format", "chrome", "--out", (folder_ / "trace.json").string()},
      {"compare", sound_.string(), database_.string()},
      {"predict", database_.string(), "--workers", "8"}};
  std::string bytes_;
  std::vector<Answer> expected_;
};

TEST_F(DamagedDatabase, AFlippedBitIsRefusedOrChangesNothing) {
  std::mt19937_64 random(20);
  int refusals = 0;
  const std::size_t rounds = test::long_tests() ? 240 : 40;
  for (std::size_t i = 0; i < rounds; ++i) {
    std::string bytes = bytes_;
    const std::size_t bit = random() % (8 * bytes.size());
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    write(database_, bytes);
    SCOPED_TRACE("bit " + std::to_string(bit));
    refusals += refused(i % commands_.size());
    if (HasFailure()) return;
  }
  EXPECT_GT(refusals, static_cast<int>(rounds / 12)) << "a command reads a large part of the file";
}

TEST_F(DamagedDatabase, AZeroedPageIsRefusedOrChangesNothing) {
  constexpr std::size_t page_bytes = 4096;
  int refusals = 0;
  const std::size_t stride = test::long_tests() ? 1 : 3;
  for (std::size_t page = 0; page * page_bytes < bytes_.size(); page += stride) {
    std::string bytes = bytes_;
    bytes.replace(page * page_bytes, page_bytes, std::string(page_bytes, '\0'));
    write(database_, bytes);
    SCOPED_TRACE("page " + std::to_string(page + 1));
    refusals += refused(page % commands_.size());
    if (HasFailure()) return;
  }
  EXPECT_GT(refusals, stride == 1 ? 5 : 1);
}

TEST_F(DamagedDatabase, ACutFileIsRefused) {
  for (std::size_t size = 0; size < bytes_.size(); size += size < 200 ? 20 : 7001) {
    write(database_, bytes_.substr(0, size));
    SCOPED_TRACE(std::to_string(size) + " bytes");
    EXPECT_TRUE(refused(size % commands_.size()));
    if (HasFailure()) return;
  }
}

// Each command waits for the other process, with a time limit.
TEST_F(DamagedDatabase, ALockedFileIsNamed) {
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    try {
      SQLite::Database other(database_.string(), SQLite::OPEN_READWRITE);
      other.exec("BEGIN EXCLUSIVE");
      [[maybe_unused]] const auto told = ::write(ready[1], "x", 1);
      ::alarm(300);  // ends this process if the parent has ended
      for (;;) ::pause();
    } catch (...) {
    }
    ::_exit(1);
  }
  ::close(ready[1]);
  pollfd wait{ready[0], POLLIN, 0};
  ASSERT_EQ(::poll(&wait, 1, 60'000), 1);
  for (std::size_t i = 0; i < (test::long_tests() ? commands_.size() : 1); ++i) {  // each waits for the lock
    const Answer answer = run(commands_[i]);
    EXPECT_EQ(answer.code, 4) << answer.messages;
    EXPECT_THAT(answer.messages, HasSubstr(database_.string() + ": another process is writing to this database"));
    EXPECT_THAT(answer.messages, HasSubstr("wait for it to end"));
  }
  ::close(ready[0]);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(run(commands_[0]).out, expected_[0].out) << "and reads it afterwards";
}

}  // namespace
}  // namespace ddpprof
