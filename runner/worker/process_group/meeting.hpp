// Brings the ranks to one store and calls the roll there, before any group is built: who is missing, there twice or
// does not fit is named on every rank, instead of a wait that ends nowhere.
#pragma once

#include <chrono>
#include <string>

#include "runner/launcher/rendezvous.hpp"
#include "runner/worker/process_group/entrance.hpp"
#include "runner/worker/process_group/process_group.hpp"
#include "runner/worker/process_group/roll.hpp"

namespace ddpprof::worker {

struct Meeting {
  c10::intrusive_ptr<c10d::Store> store;  // of this run and this attempt alone
  std::string run;                        // names the run, equal on every rank
  std::string address;                    // this rank's own, where the others reach it
};

// Rank 0 serves the store (or torchrun's agent does), every rank leaves its registration there, rank 0 holds the
// registrations against each other and its decision is read by all. Waits at most `timeout` to reach the store, and
// then at most `timeout` until every rank has come; a mistake that shows earlier ends it at once. `own`: rank, world
// size, host, process, nonce, address and network are filled in here. Throws MeetingError; ends the process with code 4
// where c10d itself does not come back within a quarter of a minute more.
Meeting meet(const RankEnvironment& environment, launcher::Registration own, const Entrance& entrance,
             std::chrono::milliseconds timeout);

}  // namespace ddpprof::worker
