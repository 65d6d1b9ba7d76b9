// The place where ranks meet, MASTER_ADDR:MASTER_PORT: rank 0 takes the port, the others reach it, or hear why not.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "runner/launcher/rendezvous.hpp"

namespace ddpprof::launcher {

// The message says what is wrong with the place and what to do; no "MASTER_ADDR:MASTER_PORT:" stands before it.
class MasterError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Rank 0's socket: on every address of this host, but on loopback alone where `address` is a loopback address or
// "localhost", so that a run on one host is not open to the network. Throws MasterError: the port is in use (by whom,
// where the system tells), reserved, or cannot be taken for another reason.
ListeningSocket open_master(const std::string& address, std::uint16_t port);

// The name of the program that a process of this host runs, "" when there is none. Not its thread's name, which a
// program may change.
std::string program_of(std::int64_t pid);

// The process that listens on a TCP port of this host: "process 71 (python3)". nullopt: nobody, or not to be seen.
std::optional<std::string> port_holder(std::uint16_t port);

inline constexpr std::chrono::milliseconds name_patience{10'000};  // for a name that does not resolve

// Returns once somebody accepts connections there. Throws MasterError after `timeout`, saying what came back: refused,
// no answer, no route; for a name that does not resolve after at most name_patience. `serves`: this is rank 0 and its
// own socket listens, so a refusal is final: the address is another host's.
void reach_master(const std::string& address, std::uint16_t port, std::chrono::milliseconds timeout, bool serves);

}  // namespace ddpprof::launcher
