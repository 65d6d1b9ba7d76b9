#include "runner/worker/process_group/meeting.hpp"
#include "runner/worker/first_line.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "runner/host/network.hpp"
#include "runner/launcher/deadline.hpp"
#include "runner/launcher/master.hpp"

namespace ddpprof::worker {
namespace {

using Clock = std::chrono::steady_clock;
using launcher::Card;
using std::chrono::milliseconds;

constexpr milliseconds beyond_c10d{15'000};  // after which a call into c10d that should have ended is given up

// Ends the process when c10d does not return.
class Guard {
 public:
  Guard(int rank, const std::string& message, milliseconds limit)
      : deadline_(limit, [rank, message] {
          std::cerr << "ddpprof-worker: rank " << rank << " failed while waiting for the other ranks: " << message
                    << std::endl;
          _exit(4);
        }) {}

 private:
  launcher::Deadline deadline_;
};

// `listen`: where rank 0 does so instead of MASTER_ADDR's address, "" there.
c10::intrusive_ptr<c10d::Store> reach_store(const RankEnvironment& environment, bool serves, const std::string& listen,
                                            milliseconds timeout, std::string& place) {
  c10d::TCPStoreOptions options;
  options.port = environment.master_port;
  options.isServer = serves;
  options.numWorkers = static_cast<std::size_t>(environment.world_size);
  options.waitWorkers = false;  // the roll-call says who is missing
  options.timeout = timeout;
  options.masterListenFd = environment.master_listen_socket;
  const auto end = Clock::now() + timeout;
  std::string host = environment.master_address;
  launcher::Master own;
  {
    const Guard guard(environment.rank,
                      "resolving or reaching MASTER_ADDR=" + environment.master_address + " does not end",
                      timeout + beyond_c10d);
    if (serves && !environment.master_listen_socket) {
      own = launcher::open_master(
          {environment.master_address, environment.master_port, listen,
           environment.local_world_size > 0 && environment.local_world_size < environment.world_size, timeout});
      if (!own.note.empty()) std::cerr << "ddpprof-worker: " << own.note << std::endl;
      host = own.reach;
      options.port = own.socket.port();
      options.masterListenFd = fcntl(own.socket.descriptor(), F_DUPFD_CLOEXEC, 0);  // the store closes what it is given
    }
    place = environment.master_address + ":" + std::to_string(options.port);
    if (!serves) launcher::reach_master(environment.master_address, options.port, timeout);
  }
  const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
  const Guard guard(environment.rank,
                    place +
                        " accepts connections but is silent: expected rank 0's store there, found another program "
                        "or a rank 0 that is stuck",
                    std::max(left, milliseconds{0}) + beyond_c10d);
  try {
    return c10::make_intrusive<c10d::TCPStore>(host, options);
  } catch (const c10::DistError& error) {
    throw MeetingError(
        place + " accepts connections but is not rank 0's store (another program?): " + first_line(error.what()));
  }
}

}  // namespace

Meeting meet(const RankEnvironment& environment, Card own, const Entrance& entrance, milliseconds timeout) {
  own.rank = environment.rank;
  own.world_size = environment.world_size;
  own.host = host::host_name();
  own.pid = getpid();
  own.nonce = launcher::draw_nonce();
  RankEnvironment where = environment;
  const bool alone = where.world_size == 1 && !where.master_listen_socket;
  if (alone) {  // alone: any free port of this host will do
    where.master_address = "127.0.0.1";
    where.master_port = 0;
    where.store_elsewhere = false;
  }
  const bool serves = where.rank == 0 && !where.store_elsewhere;
  std::string place;
  Meeting meeting;
  try {
    const auto shared = reach_store(where, serves, alone ? std::string() : entrance.listen, timeout, place);
    // An agent's store outlives a failed attempt: without its number the attempt's cards would be found again.
    meeting.store = c10::make_intrusive<c10d::PrefixStore>(
        "ddpprof/" + where.run_id + "/attempt-" + std::to_string(where.attempt), shared);
  } catch (const launcher::MasterError& error) {
    throw MeetingError(error.what());
  }
  const Guard guard(where.rank, "rank 0's store at " + place + " stopped answering: is rank 0's process stopped?",
                    timeout + rank_0_first + beyond_c10d);
  Roll roll(*meeting.store, own, entrance.token, place, timeout);
  try {
    meeting.run = roll.call();
  } catch (const MeetingError&) {
    if (serves) roll.wait_until_heard();
    throw;
  } catch (const c10::DistError& error) {
    throw MeetingError("the connection to rank 0's store at " + place + " was lost (" + first_line(error.what()) +
                       "): rank 0 has ended, and its output says why");
  }
  return meeting;
}

}  // namespace ddpprof::worker
