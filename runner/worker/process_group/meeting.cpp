#include "runner/worker/process_group/meeting.hpp"
#include "runner/worker/first_line.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <thread>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "runner/host/host.hpp"
#include "runner/host/network.hpp"
#include "runner/launcher/master.hpp"
#include "runner/worker/process_group/guard.hpp"

namespace ddpprof::worker {
namespace {

using Clock = std::chrono::steady_clock;
using launcher::Registration;
using std::chrono::milliseconds;

// Between two checks whether rank 0 has opened a call.
constexpr milliseconds shortest_call_pause{5}, longest_call_pause{250};

constexpr const char* meeting_them = "waiting for the other ranks";

// `listen`: the address on which rank 0 listens if it is not MASTER_ADDR, otherwise "". Becomes the numeric address, or
// "" for all addresses.
c10::intrusive_ptr<c10d::Store> reach_store(const RankEnvironment& environment, bool serves, std::string& listen,
                                            milliseconds timeout, std::string& place) {
  c10d::TCPStoreOptions options;
  options.port = environment.master_port;
  options.isServer = serves;
  options.numWorkers = static_cast<std::size_t>(environment.world_size);
  options.waitWorkers = false;  // the rendezvous reports missing ranks
  options.timeout = timeout;
  options.masterListenFd = environment.master_listen_socket;
  const auto end = Clock::now() + timeout;
  std::string host = environment.master_address;
  launcher::Master own;
  {
    const Guard guard(environment.rank, meeting_them,
                      "resolving or reaching MASTER_ADDR=" + environment.master_address + " does not end",
                      timeout + beyond_c10d);
    if (serves && !environment.master_listen_socket) {
      own = launcher::open_master(
          {environment.master_address, environment.master_port, listen, environment.several_hosts, timeout});
      if (!own.note.empty()) std::cerr << "ddpprof-worker: " << own.note << std::endl;
      host = own.reach;
      if (!listen.empty()) listen = own.address == own.reach ? own.address : "";
      options.port = own.socket.port();
      options.masterListenFd = fcntl(own.socket.descriptor(), F_DUPFD_CLOEXEC, 0);  // the store closes this descriptor
    }
    place = environment.master_address + ":" + std::to_string(options.port);
    if (!serves) launcher::reach_master(environment.master_address, options.port, timeout);
  }
  const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
  const Guard guard(environment.rank, meeting_them,
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

// Returns the address at which the other ranks reach this rank.
std::string own_address(const RankEnvironment& environment, const std::string& listen) {
  if (environment.world_size == 1) return "127.0.0.1";
  // If MASTER_ADDR is forwarded to rank 0, the route to it does not show rank 0's own address.
  if (environment.rank == 0 && !listen.empty()) return listen;
  return address_towards(environment.master_address, environment.master_port);
}

// Two processes share the loopback interface if these are equal, also if their containers have different host names.
std::string own_network() {
  std::error_code error;
  return host::Host().line("/proc/sys/kernel/random/boot_id").value.value_or(host::host_name()) + " " +
         std::filesystem::read_symlink("/proc/self/ns/net", error).string();
}

constexpr const char* calls = "calls";  // the number of calls that rank 0 has opened

c10::intrusive_ptr<c10d::Store> store_of_call(const c10::intrusive_ptr<c10d::Store>& base, std::int64_t number) {
  return c10::make_intrusive<c10d::PrefixStore>("call-" + std::to_string(number), base);
}

// Returns the failure of the previous call, which may be of this attempt if this rank was late. "" without a failure.
std::string last_verdict(const c10::intrusive_ptr<c10d::Store>& base, std::int64_t number) {
  const auto store = store_of_call(base, number);
  if (number < 1 || !Roll::closed(*store)) return "";
  const auto decision =
      launcher::decision_from_text(store->get_to_str("verdict"));  // nullopt with a token, which wraps it
  return !decision || decision->ok ? "" : "; the attempt before ended with: " + decision->message;
}

// Ranks do not register in a call that is not open: the registration would still count after this rank has ended, when
// rank 0 opens the call for the next attempt.
void wait_until_opened(const c10::intrusive_ptr<c10d::Store>& base, std::int64_t number, const Registration& own,
                       const std::string& place, Clock::time_point begin, milliseconds timeout) {
  while (base->add(calls, 0) < number) {
    const auto waited = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    if (waited >= timeout + rank_0_first)
      throw MeetingError("rank 0's store at " + place + " was reached, but " +
                         launcher::Rendezvous::absence_of_rank_0(own, std::chrono::duration<double>(waited).count()));
    std::this_thread::sleep_for(std::clamp(waited / 20, shortest_call_pause, longest_call_pause));
  }
}

// An agent's store outlives an attempt, and agents of several hosts count attempts differently. So rank 0 opens a call
// with its own number for each attempt. The other ranks join the open call, or wait for the next call if the last one
// has a decision. If rank 0 opens a new call before the decision, the old call belonged to a failed attempt.
Meeting meet_in_calls(const c10::intrusive_ptr<c10d::Store>& base, const Registration& own, const Entrance& entrance,
                      const std::string& place, milliseconds timeout) {
  Meeting meeting;
  if (own.rank == 0) {
    meeting.store = store_of_call(base, base->add(calls, 1));
    meeting.run = Roll(*meeting.store, own, entrance.token, place, timeout).call().value();
    return meeting;
  }
  const auto begin = Clock::now();
  while (true) {
    std::int64_t number = std::max<std::int64_t>(1, base->add(calls, 0));
    meeting.store = store_of_call(base, number);
    if (Roll::closed(*meeting.store)) meeting.store = store_of_call(base, ++number);
    const auto superseded = [&base, number] { return base->add(calls, 0) > number; };
    try {
      wait_until_opened(base, number, own, place, begin, timeout);
      const auto waited = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
      Roll roll(*meeting.store, own, entrance.token, place, timeout, superseded, waited);
      if (const auto run = roll.call()) {
        meeting.run = *run;
        return meeting;
      }
    } catch (const MeetingError& error) {
      throw MeetingError(error.what() + last_verdict(base, number - 1));
    }
  }
}

}  // namespace

Meeting meet(const RankEnvironment& environment, Registration own, const Entrance& entrance, milliseconds timeout) {
  own.rank = environment.rank;
  own.world_size = environment.world_size;
  own.host = host::host_name();
  own.pid = getpid();
  own.nonce = launcher::draw_nonce();
  RankEnvironment where = environment;
  const bool alone = where.world_size == 1 && !where.master_listen_socket;
  if (alone) {  // one rank: any free port of this host is suitable
    where.master_address = "127.0.0.1";
    where.master_port = 0;
    where.store_elsewhere = where.starts_anew = false;
  }
  const bool serves = where.rank == 0 && !where.store_elsewhere;
  std::string place, listen = alone ? "" : entrance.listen;
  Meeting meeting;
  try {
    const auto shared = reach_store(where, serves, listen, timeout, place);
    const std::string attempt = where.starts_anew ? "" : "/attempt-" + std::to_string(where.attempt);
    meeting.store = c10::make_intrusive<c10d::PrefixStore>("ddpprof/" + where.run_id + attempt, shared);
  } catch (const launcher::MasterError& error) {
    throw MeetingError(error.what());
  }
  const Guard guard(where.rank, meeting_them,
                    "rank 0's store at " + place + " stopped answering: is rank 0's process stopped?",
                    timeout + rank_0_first + beyond_c10d);
  own.address = own_address(environment, listen);
  own.network = own_network();
  meeting.address = own.address;
  try {
    if (where.starts_anew) {
      Meeting met = meet_in_calls(meeting.store, own, entrance, place, timeout);
      met.address = own.address;
      return met;
    }
    Roll roll(*meeting.store, own, entrance.token, place, timeout);
    try {
      meeting.run = roll.call().value();
    } catch (const MeetingError&) {
      if (serves) roll.wait_until_heard();
      throw;
    }
  } catch (const c10::DistError& error) {
    throw MeetingError("the connection to rank 0's store at " + place + " was lost (" + first_line(error.what()) +
                       "): rank 0 has ended, and its output says why");
  }
  return meeting;
}

}  // namespace ddpprof::worker
