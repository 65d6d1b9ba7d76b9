// The token's file on a real file system, pipes included, and what is proved with it.
#include "runner/launcher/exchange/token.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "tests/store/shard_builder.hpp"

namespace ddpprof::launcher {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr const char* secret = "bPzSJUuIxVaLOCfCZ2m6Xw9GqVb0yT3k";

class TokenFile : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& text, mode_t mode = 0600) {
    const std::filesystem::path path = folder_ / "token";
    std::filesystem::remove(path);
    std::ofstream(path, std::ios::binary) << text;
    chmod(path.c_str(), mode);
    return path;
  }
  static std::string error_of(const std::filesystem::path& path) {
    try {
      read_token(path, milliseconds(200));
    } catch (const TokenError& error) {
      return error.what();
    }
    return "no error";
  }
  test::TemporaryFolder folder_;
};

std::string proof_of(const Token& token) { return token.prove("card", "text"); }

TEST_F(TokenFile, IsReadWithoutTheWhiteSpaceAroundIt) {
  const std::string expected = proof_of(Token(secret));
  for (const char* end : {"", "\n", "\r\n", " \n\n"})
    EXPECT_EQ(proof_of(read_token(write(std::string("  ") + secret + end))), expected);
  EXPECT_EQ(proof_of(read_token(write(secret, 0400))), expected);
}

TEST_F(TokenFile, IsRefusedWhereOthersMayReadIt) {
  for (const mode_t mode : {0640, 0604, 0644, 0620, 0602, 0610})
    EXPECT_THAT(error_of(write(secret, mode)), HasSubstr("so other users than its owner may use it: expected 0600"));
}

TEST_F(TokenFile, IsRefusedWhereItIsSomebodyElses) {
  if (geteuid() != 0) GTEST_SKIP() << "skipped: only root can give a file away";
  const std::filesystem::path path = write(secret);
  ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
  EXPECT_THAT(error_of(path), HasSubstr("belongs to user 12345: expected this user, 0, or root"));
}

TEST_F(TokenFile, IsRefusedWhenItCanBeGuessedOrIsNoToken) {
  EXPECT_THAT(error_of(write("")), HasSubstr("contains 0 bytes: expected 16 to 4096; make one with"));
  EXPECT_THAT(error_of(write("123456789012345")), HasSubstr("contains 15 bytes"));
  EXPECT_THAT(error_of(write(std::string(4097, 'x'))), HasSubstr("contains too many bytes"));
  EXPECT_THAT(error_of(write(std::string(1 << 20, 'x'))), HasSubstr("contains too many bytes"));
  EXPECT_THAT(error_of(folder_ / "nowhere"), HasSubstr("cannot be opened: No such file"));
  EXPECT_THAT(error_of("/dev/null"), HasSubstr("is neither a file nor a pipe"));
  EXPECT_THAT(error_of(folder_ / "."), HasSubstr("is neither a file nor a pipe"));
}

TEST_F(TokenFile, MayBeAPipe) {
  const std::filesystem::path path = folder_ / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  // The writer starts late and writes in two parts.
  std::thread writer([&] {
    std::this_thread::sleep_for(milliseconds(100));
    std::ofstream pipe(path, std::ios::binary);
    pipe << std::string(secret).substr(0, 10) << std::flush;
    std::this_thread::sleep_for(milliseconds(100));
    pipe << std::string(secret).substr(10) << "\n";
  });
  EXPECT_EQ(proof_of(read_token(path, milliseconds(60'000))), proof_of(Token(secret)));
  writer.join();
  EXPECT_THAT(error_of(path), HasSubstr("is a pipe that no process wrote to"));  // instead of waiting forever
}

TEST(Tokens, GoThroughAPipe) {
  const Token token(secret);
  EXPECT_EQ(proof_of(take_token(token.to_pipe())), proof_of(token));
  const Token largest(std::string(4096, 'y'));
  EXPECT_EQ(proof_of(take_token(largest.to_pipe())), proof_of(largest));
}

TEST(Tokens, ProveOneThingToThoseWhoKnowThem) {
  const Token token(secret), other("another token, as long as needed");
  const std::string proof = token.prove("card", "text");
  EXPECT_TRUE(token.proves("card", "text", proof));
  EXPECT_FALSE(token.proves("card", "texts", proof));
  EXPECT_FALSE(token.proves("verdict", "text", proof));
  EXPECT_FALSE(other.proves("card", "text", proof));
  EXPECT_FALSE(token.proves("card", "text", ""));
  EXPECT_THAT(proof, testing::Not(HasSubstr(std::string(secret).substr(0, 8))));
}

}  // namespace
}  // namespace ddpprof::launcher
