// Several processes that make or replace the same database at once.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/store/shard_builder.hpp"
#include "tracer/store/database.hpp"
#include "tracer/store/rows/inserter.hpp"
#include "tracer/store/rows/rows.hpp"

namespace ddpprof::store {
namespace {

using test::TemporaryFolder;

constexpr int processes = 6, rounds = 20;

// In a child: waits for the end of `start`, creates the database and writes who made it. Returns the exit code.
int create_at(int start, const std::filesystem::path& path, int child) {
  char byte = 0;
  while (::read(start, &byte, 1) > 0) {
  }
  try {
    Database database = Database::create(path);
    Inserter<MetaRow>(database).insert({"made by", std::to_string(child)});
    return 0;
  } catch (const DatabaseError& error) {
    return error.kind() == ErrorKind::exists ? 1 : 2;
  } catch (...) {
    return 3;
  }
}

// The creators that lose must neither remove the file of the one that wins nor write into it.
TEST(CreationRace, OneProcessGetsTheFileAndKeepsIt) {
  for (int round = 0; round < rounds; ++round) {
    TemporaryFolder folder;
    const std::filesystem::path path = folder / "a.db";
    if (round % 2 == 1) std::ofstream(path).flush();  // as an interrupted command leaves it
    int start[2];
    ASSERT_EQ(::pipe(start), 0);
    std::vector<pid_t> children;
    for (int child = 0; child < processes; ++child) {
      const pid_t pid = ::fork();
      ASSERT_GE(pid, 0);
      if (pid == 0) {
        ::close(start[1]);
        ::_exit(create_at(start[0], path, child));
      }
      children.push_back(pid);
    }
    ::close(start[0]);
    ::close(start[1]);
    std::vector<int> codes;
    std::string winner;
    for (int child = 0; child < processes; ++child) {
      int status = 0;
      ASSERT_EQ(::waitpid(children[static_cast<std::size_t>(child)], &status, 0),
                children[static_cast<std::size_t>(child)]);
      codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
      if (codes.back() == 0) winner += std::to_string(child);
      EXPECT_LE(codes.back(), 1) << "round " << round << ": neither created nor refused as existing";
    }
    ASSERT_EQ(winner.size(), 1U) << "round " << round << ": the creators that succeeded are " << winner;
    Database database = Database::open_read(path);
    EXPECT_EQ(database.sql().execAndGet("SELECT group_concat(value) FROM meta").getString(), winner);
    EXPECT_NO_THROW(database.check());
  }
}

// The second one waits for the lock of a file that is gone when it gets the lock.
TEST(CreationRace, TheSecondOfTwoReplacementsIsRefused) {
  TemporaryFolder folder;
  const std::filesystem::path path = folder / "a.db", next = folder / "next.db";
  Database::create(path);
  {
    Database made = Database::create(next);
    Inserter<MetaRow>(made).insert({"made by", "the first"});
  }
  std::future<std::optional<ErrorKind>> second;
  Database::replace(path, [&] {
    second = std::async(std::launch::async, [&]() -> std::optional<ErrorKind> {
      try {
        Database::create(path, Replace::yes);
      } catch (const DatabaseError& error) {
        return error.kind();
      }
      return std::nullopt;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the second one waits now
    std::filesystem::rename(next, path);
  });
  EXPECT_EQ(second.get(), ErrorKind::locked);
  EXPECT_EQ(Database::open_read(path).sql().execAndGet("SELECT value FROM meta").getString(), "the first");
}

}  // namespace
}  // namespace ddpprof::store
