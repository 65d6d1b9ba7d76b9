// Rank 0's port, and connections to it, on real loopback sockets.
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

Master open_at(const std::string& address, std::uint16_t port, const std::string& listen = "") {
  return open_master({address, port, listen, false, milliseconds(300)});
}

TEST(OpenMaster, ServesTheGivenAddressAlone) {
  for (const char* address : {"127.0.0.1", "127.0.0.2", "127.1.2.3"}) {
    const Master own = open_at(address, 0);
    EXPECT_EQ(own.address, address);
    EXPECT_EQ(own.note, "");
    for (const char* other : {"127.0.0.1", "127.0.0.2", "127.1.2.3"})
      EXPECT_EQ(connects(other, own.socket.port()), std::string(other) == address) << address << " and " << other;
  }
}

TEST(OpenMaster, LoopbackInEverySpelling) {
  for (const char* address : {"localhost", "::ffff:127.0.0.1", "127.1", "0x7f000001"}) {
    const Master own = open_at(address, 0);
    EXPECT_EQ(own.address, "127.0.0.1") << address;
    EXPECT_TRUE(connects("127.0.0.1", own.socket.port())) << address;
    EXPECT_FALSE(connects("127.0.0.2", own.socket.port())) << address;
  }
}

TEST(OpenMaster, ListensElsewhereWhereOneSaysSo) {
  // An address for documentation (RFC 5737): no host has it.
  const Master everywhere = open_at("192.0.2.7", 0, "0.0.0.0");
  EXPECT_EQ(everywhere.reach, "127.0.0.1");
  EXPECT_TRUE(connects("127.0.0.1", everywhere.socket.port()));
  EXPECT_TRUE(connects("127.0.0.2", everywhere.socket.port()));
  const Master one = open_at("192.0.2.7", 0, "127.0.0.2");
  EXPECT_TRUE(connects("127.0.0.2", one.socket.port()));
  EXPECT_FALSE(connects("127.0.0.1", one.socket.port()));
}

TEST(OpenMaster, AnotherHostsAddressIsRefusedAtOnce) {
  const std::string error = error_of([] { open_at("192.0.2.7", free_port()); });
  EXPECT_THAT(error, HasSubstr("MASTER_ADDR=192.0.2.7 is an address of another host"));
  EXPECT_THAT(error, HasSubstr("--listen ADDRESS"));
  EXPECT_THAT(error_of([] { open_at("127.0.0.1", free_port(), "192.0.2.7"); }),
              HasSubstr("--listen 192.0.2.7 is not an address of this host"));
  EXPECT_THAT(error_of([] { open_at("127.0.0.1", free_port(), "nowhere.invalid"); }),
              HasSubstr("--listen=nowhere.invalid does not resolve ("));
}

TEST(OpenMaster, LoopbackCannotServeOtherHosts) {
  const std::string error = error_of([] { open_master({"localhost", free_port(), "", true, milliseconds(300)}); });
  EXPECT_THAT(error,
              HasSubstr("MASTER_ADDR=localhost is 127.0.0.1 on this host, which other hosts cannot reach, and ranks "
                        "on other hosts are expected"));
}

// Neither listening on all addresses without a message nor Gloo connections over loopback were requested.
TEST(OpenMaster, AnAddressThatStandsForAllNamesNoHost) {
  for (const char* address : {"0.0.0.0", "0", "::", "::ffff:0.0.0.0"}) {
    const std::string error = error_of([&] { open_at(address, 0); });
    EXPECT_THAT(error, HasSubstr(std::string("MASTER_ADDR=") + address + " means all addresses of a host")) << error;
    EXPECT_THAT(error, HasSubstr("--listen "));
  }
  EXPECT_TRUE(connects("127.0.0.2", open_at("127.0.0.1", 0, "0.0.0.0").socket.port()));
}

TEST(OpenMaster, SaysWhoHoldsThePort) {
  const ListeningSocket other = open_loopback_listener();
  const std::string process = "process " + std::to_string(getpid()) + " (launcher_test)";
  for (const char* address : {"127.0.0.1", "localhost", "::ffff:127.0.0.1"}) {
    const std::string error = error_of([&] { open_at(address, other.port()); });
    EXPECT_THAT(error, HasSubstr("port " + std::to_string(other.port()) + " is in use by " + process)) << address;
    EXPECT_THAT(error, HasSubstr("another rank 0 may be there already")) << address;
  }
}

TEST(OpenMaster, APortIsFreeAgainAtOnce) {
  const std::uint16_t port = free_port();
  for (int round = 0; round < 3; ++round) {
    const Master own = open_at("127.0.0.1", port);
    EXPECT_TRUE(connects("127.0.0.1", port));
  }
}

TEST(PortHolder, NobodyHoldsAFreePort) { EXPECT_EQ(port_holder(free_port()), std::nullopt); }

TEST(ReachMaster, ReturnsOnceSomebodyListens) {
  const std::uint16_t port = free_port();
  std::thread late([&] {
    std::this_thread::sleep_for(milliseconds(200));
    const Master own = open_at("127.0.0.1", port);
    std::this_thread::sleep_for(milliseconds(5'000));
  });
  EXPECT_EQ(error_of([&] { reach_master("localhost", port, milliseconds(60'000)); }), "no error");
  late.join();
}

TEST(ReachMaster, RefusedUntilTheTimeIsOver) {
  const std::uint16_t port = free_port();
  const auto begin = steady_clock::now();
  EXPECT_THAT(
      error_of([&] { reach_master("127.0.0.1", port, milliseconds(700)); }),
      HasSubstr("nothing listens at 127.0.0.1:" + std::to_string(port) + ": the connection was refused for 0.7"));
  EXPECT_GE(steady_clock::now() - begin, milliseconds(700));
}

TEST(ReachMaster, ANameThatDoesNotResolve) {
  // ".invalid" never resolves (RFC 6761).
  EXPECT_THAT(error_of([&] { reach_master("nowhere.invalid", 29500, milliseconds(300)); }),
              HasSubstr("MASTER_ADDR=nowhere.invalid does not resolve ("));
  EXPECT_THAT(error_of([] { open_at("nowhere.invalid", 29500); }),
              HasSubstr("MASTER_ADDR=nowhere.invalid does not resolve ("));
}

// A listener with a full queue drops the next connection request: it gets no answer, as behind a firewall.
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
  EXPECT_THAT(error_of([&] { reach_master("127.0.0.1", ntohs(place.sin_port), milliseconds(1'000)); }),
              HasSubstr("no answer from 127.0.0.1:" + std::to_string(ntohs(place.sin_port)) + " for 1"));
  for (const int one : queued) close(one);
  close(full);
}

}  // namespace
}  // namespace ddpprof::launcher
