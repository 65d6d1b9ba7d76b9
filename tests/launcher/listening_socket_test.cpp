#include "runner/launcher/listening_socket.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "tests/launcher/connects.hpp"

namespace ddpprof::launcher {
namespace {

using test::connects;

TEST(Listener, TakesConnectionsBeforeAnybodyAccepts) {
  ListeningSocket listener = open_loopback_listener();
  EXPECT_GT(listener.port(), 0);
  EXPECT_TRUE(connects("127.0.0.1", listener.port()));
  EXPECT_NE(fcntl(listener.descriptor(), F_GETFD) & FD_CLOEXEC, 0);
}

// 127.0.0.2 is another address of this machine. A socket bound to all addresses would answer there.
TEST(Listener, ListensOnTheGivenAddressOnly) {
  ListeningSocket listener = open_loopback_listener();
  EXPECT_FALSE(connects("127.0.0.2", listener.port()));
}

TEST(Listener, ClosesWithItsOwner) {
  ListeningSocket listener = open_loopback_listener();
  const std::uint16_t port = listener.port();
  ListeningSocket moved = std::move(listener);
  EXPECT_EQ(listener.descriptor(), -1);
  EXPECT_TRUE(connects("127.0.0.1", port));
  moved.close();
  EXPECT_FALSE(connects("127.0.0.1", port));
}

}  // namespace
}  // namespace ddpprof::launcher
