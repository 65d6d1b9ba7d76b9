#include "runner/launcher/status_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace ddpprof::launcher {
namespace {

class StatusFiles : public testing::Test {
 protected:
  ~StatusFiles() override { std::filesystem::remove(file_); }

  std::filesystem::path file_ =
      std::filesystem::path(testing::TempDir()) / ("ddpprof-status-" + std::to_string(getpid()) + "-" +
                                                   testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(StatusFiles, BothSidesSeeOnePage) {
  const StatusFile launcher = StatusFile::create(file_);
  EXPECT_EQ(launcher.read(), Status{});  // before the first report: starting, step -1
  EXPECT_EQ(std::filesystem::file_size(file_), static_cast<std::uintmax_t>(status_page_bytes));

  StatusFile rank = StatusFile::attach(file_);
  const std::int64_t before = monotonic_ns();
  rank.report(Activity::backward, 17, 55);
  const Status seen = launcher.read();
  EXPECT_EQ(seen.activity, Activity::backward);
  EXPECT_EQ(seen.step, 17);
  EXPECT_EQ(seen.steps_planned, 55);
  EXPECT_GE(seen.updated_ns, before);
  EXPECT_LE(seen.updated_ns, monotonic_ns());
}

TEST_F(StatusFiles, ARankOfAnOlderRunCannotWriteIntoANewPage) {
  const StatusFile older = StatusFile::create(file_);
  StatusFile old_rank = StatusFile::attach(file_);
  const StatusFile newer = StatusFile::create(file_);
  old_rank.report(Activity::forward, 3, 9);
  EXPECT_EQ(newer.read(), Status{});
}

TEST_F(StatusFiles, MissingOrShortOnesAreRefused) {
  EXPECT_THROW(StatusFile::attach(file_), std::system_error);
  std::ofstream(file_) << "short";
  EXPECT_THROW(StatusFile::attach(file_), std::system_error);
  EXPECT_THROW(StatusFile::create(file_ / "below-a-file"), std::system_error);
}

}  // namespace
}  // namespace ddpprof::launcher
