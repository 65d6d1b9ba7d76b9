// Rank 0's port and the way to it, on real sockets of this machine's loopback.
#include "runner/launcher/master.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/launcher/connects.hpp"

namespace ddpprof::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const MasterError& error) {
    return error.what();
  }
  return "no error";
}

using test::connects;

std::uint16_t free_port() { return open_loopback_listener().port(); }

TEST(OpenMaster, OnLoopbackServesLoopbackAlone) {
  const std::uint16_t port = free_port();
  const ListeningSocket own = open_master("127.0.0.1", port);
  EXPECT_EQ(own.port(), port);
  EXPECT_TRUE(connects("127.0.0.1", port));
  EXPECT_FALSE(connects("127.0.0.2", port));  // which a socket on every address would answer
}

TEST(OpenMaster, OtherwiseServesEveryAddress) {
  const ListeningSocket own = open_master("some-host", free_port());
  EXPECT_TRUE(connects("127.0.0.1", own.port()));
  EXPECT_TRUE(connects("127.0.0.2", own.port()));
}

TEST(OpenMaster, SaysWhoHoldsThePort) {
  const ListeningSocket other = open_loopback_listener();
  const std::string process = "process " + std::to_string(getpid()) + " (launcher_test)";
  for (const char* address : {"127.0.0.1", "localhost", "some-host"}) {
    const std::string error = error_of([&] { open_master(address, other.port()); });
    EXPECT_THAT(error, HasSubstr("port " + std::to_string(other.port()) + " is in use by " + process)) << address;
    EXPECT_THAT(error, HasSubstr("another rank 0 may be there already")) << address;
  }
}

TEST(OpenMaster, APortIsFreeAgainAtOnce) {
  const std::uint16_t port = free_port();
  for (int round = 0; round < 3; ++round) {
    const ListeningSocket own = open_master("127.0.0.1", port);
    EXPECT_TRUE(connects("127.0.0.1", port));
  }
}

TEST(PortHolder, NobodyHoldsAFreePort) { EXPECT_EQ(port_holder(free_port()), std::nullopt); }

TEST(ReachMaster, ReturnsOnceSomebodyListens) {
  const std::uint16_t port = free_port();
  std::thread late([&] {
    std::this_thread::sleep_for(milliseconds(200));
    const ListeningSocket own = open_master("127.0.0.1", port);
    std::this_thread::sleep_for(milliseconds(5'000));
  });
  EXPECT_EQ(error_of([&] { reach_master("localhost", port, milliseconds(60'000), false); }), "no error");
  late.join();
}

TEST(ReachMaster, RefusedUntilTheTimeIsOver) {
  const std::uint16_t port = free_port();
  const auto begin = steady_clock::now();
  EXPECT_THAT(
      error_of([&] { reach_master("127.0.0.1", port, milliseconds(700), false); }),
      HasSubstr("nothing listens at 127.0.0.1:" + std::to_string(port) + ": the connection was refused for 0.7"));
  EXPECT_GE(steady_clock::now() - begin, milliseconds(700));
}

TEST(ReachMaster, ARankThatServesIsToldAtOnceThatTheAddressIsAnothers) {
  EXPECT_THAT(error_of([&] { reach_master("127.0.0.2", free_port(), milliseconds(60'000), true); }),
              HasSubstr("MASTER_ADDR is another host's"));
}

TEST(ReachMaster, ANameThatDoesNotResolve) {
  // ".invalid" never resolves (RFC 6761).
  EXPECT_THAT(error_of([&] { reach_master("nowhere.invalid", 29500, milliseconds(300), false); }),
              HasSubstr("MASTER_ADDR=nowhere.invalid does not resolve ("));
}

// A listener whose queue is full drops what comes next: the connection request gets no answer, as behind a firewall.
TEST(ReachMaster, NoAnswer) {
  const int full = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof place;
  ASSERT_EQ(bind(full, reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
  ASSERT_EQ(listen(full, 0), 0);
  ASSERT_EQ(getsockname(full, reinterpret_cast<sockaddr*>(&place), &length), 0);
  std::vector<int> queued;
  for (int i = 0; i < 4; ++i) {
    queued.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    connect(queued.back(), reinterpret_cast<const sockaddr*>(&place), sizeof place);
  }
  EXPECT_THAT(error_of([&] { reach_master("127.0.0.1", ntohs(place.sin_port), milliseconds(1'000), false); }),
              HasSubstr("no answer from 127.0.0.1:" + std::to_string(ntohs(place.sin_port)) + " for 1"));
  for (const int one : queued) close(one);
  close(full);
}

}  // namespace
}  // namespace ddpprof::launcher
