// The rendezvous of all ranks at one store, before a process group is made. If a rank is missing, duplicate or does not
// fit, every rank reports it instead of waiting.
#pragma once

#include <chrono>
#include <string>

#include "runner/launcher/exchange/rendezvous.hpp"
#include "runner/worker/process_group/entrance.hpp"
#include "runner/worker/process_group/process_group.hpp"
#include "runner/worker/process_group/roll.hpp"

namespace ddpprof::worker {

struct Meeting {
  c10::intrusive_ptr<c10d::Store> store;  // used only by this run and this attempt
  std::string run;                        // names the run, equal on every rank
  std::string address;                    // at which the other ranks reach this rank
};

// Rank 0 (or torchrun's agent) serves the store. Every rank writes its registration there; rank 0 compares them and
// writes its decision, which all ranks read. Waits at most `timeout` to reach the store, then at most `timeout` until
// every rank has come. An earlier mistake ends the wait at once. `own`: rank, world size, host, process, nonce, address
// and network are set here. Throws MeetingError. Ends the process with code 4 if c10d does not return within 15 s after
// the timeout.
Meeting meet(const RankEnvironment& environment, launcher::Registration own, const Entrance& entrance,
             std::chrono::milliseconds timeout);

}  // namespace ddpprof::worker
