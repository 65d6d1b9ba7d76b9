// The place where ranks meet, MASTER_ADDR:MASTER_PORT: rank 0 takes the port, the others reach it, or hear why not.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "runner/launcher/listening_socket.hpp"

namespace ddpprof::launcher {

// The message says what is wrong with the place and what to do; no "MASTER_ADDR:MASTER_PORT:" stands before it.
class MasterError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline constexpr std::chrono::milliseconds name_patience{10'000};  // for a name that does not resolve

struct MasterPlace {
  std::string address;         // MASTER_ADDR: a name or an address
  std::uint16_t port = 0;      // 0: any free one
  std::string listen = {};     // where to listen instead (--listen); 0.0.0.0 and :: are every address of this host
  bool several_hosts = false;  // ranks of other hosts are to come, for sure
  std::chrono::milliseconds patience = name_patience;  // for a name that does not resolve yet
};

struct Master {
  ListeningSocket socket;
  std::string address;  // numeric: where the socket listens
  std::string reach;    // numeric: where this host itself reaches it
  std::string note;     // what the user should know of the choice, "" for nothing
};

// Rank 0's socket: on MASTER_ADDR's address alone, so that nobody of another network comes in. A name of several
// addresses: the first that is this host's, those of the network before loopback, since every rank tries them all.
// Throws MasterError: no address of it is this host's, it stands for all of them, it is loopback though other hosts are
// to come, the port is in use (by whom, where the system tells) or reserved.
Master open_master(const MasterPlace& place);

// The name of the program that a process of this host runs, "" when there is none. Not its thread's name, which a
// program may change.
std::string program_of(std::int64_t pid);

// The process that listens on a TCP port of this host: "process 71 (python3)". nullopt: nobody, or not to be seen.
std::optional<std::string> port_holder(std::uint16_t port);

// Returns once somebody accepts connections there. Throws MasterError after `timeout`, saying what came back: refused,
// no answer, no route; for a name that does not resolve after at most name_patience.
void reach_master(const std::string& address, std::uint16_t port, std::chrono::milliseconds timeout);

}  // namespace ddpprof::launcher
