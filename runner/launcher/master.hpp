// MASTER_ADDR:MASTER_PORT: rank 0 listens on it, the other ranks connect to it. Errors name the cause.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "runner/launcher/listening_socket.hpp"

namespace ddpprof::launcher {

// The message says what is wrong with MASTER_ADDR or MASTER_PORT and what to do. It has no prefix.
class MasterError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline constexpr std::chrono::milliseconds name_patience{10'000};  // for a name that does not resolve

struct MasterPlace {
  std::string address;         // MASTER_ADDR: a name or an address
  std::uint16_t port = 0;      // 0: any free one
  std::string listen = {};     // --listen: the address to listen on instead; 0.0.0.0 and :: mean all addresses
  bool several_hosts = false;  // true if it is certain that ranks on other hosts are expected
  std::chrono::milliseconds patience = name_patience;  // for a name that does not resolve yet
};

struct Master {
  ListeningSocket socket;
  std::string address;  // numeric: where the socket listens
  std::string reach;    // numeric: the address by which processes of this host reach it
  std::string note;     // a note for the user about the chosen address, or ""
};

// Returns rank 0's listening socket. It listens only on MASTER_ADDR's address, so that other networks cannot connect.
// If the name has several addresses, it takes the first that belongs to this host, with loopback last; every other rank
// tries all of them. Throws MasterError if
// - no address belongs to this host,
// - the address means all addresses,
// - it is a loopback address although ranks on other hosts are expected,
// - the port is in use (the message names the process if the system shows it) or reserved.
Master open_master(const MasterPlace& place);

// Returns the program name of a process on this host, or "" if the process does not exist. Not the thread's name, which
// a program may change.
std::string program_of(std::int64_t pid);

// Returns the process that listens on a TCP port of this host, for example "process 71 (python3)". Returns nullopt if
// no process does, or if the process is not visible to this user.
std::optional<std::string> port_holder(std::uint16_t port);

// Returns after a connection was accepted there. Throws MasterError after `timeout`, with the last error (refused, no
// answer, no route), and for a name that does not resolve after at most name_patience.
void reach_master(const std::string& address, std::uint16_t port, std::chrono::milliseconds timeout);

}  // namespace ddpprof::launcher
