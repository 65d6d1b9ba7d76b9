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

// `listen`: where rank 0 does so instead of MASTER_ADDR's address, "" there; becomes the number of that address, ""
// where it stands for every one.
c10::intrusive_ptr<c10d::Store> reach_store(const RankEnvironment& environment, bool serves, std::string& listen,
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
      options.masterListenFd = fcntl(own.socket.descriptor(), F_DUPFD_CLOEXEC, 0);  // the store closes what it is given
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

// Where the other ranks find this one.
std::string own_address(const RankEnvironment& environment, const std::string& listen) {
  if (environment.world_size == 1) return "127.0.0.1";
  // Where MASTER_ADDR leads here through somebody else's address, the route to it says nothing of rank 0's own.
  if (environment.rank == 0 && !listen.empty()) return listen;
  return address_towards(environment.master_address, environment.master_port);
}

// Two processes have the same loopback where these are equal, whatever their containers call the host.
std::string own_network() {
  std::error_code error;
  return host::Host().line("/proc/sys/kernel/random/boot_id").value.value_or(host::host_name()) + " " +
         std::filesystem::read_symlink("/proc/self/ns/net", error).string();
}

constexpr const char* calls = "calls";  // how many rank 0 has opened

c10::intrusive_ptr<c10d::Store> store_of_call(const c10::intrusive_ptr<c10d::Store>& base, std::int64_t number) {
  return c10::make_intrusive<c10d::PrefixStore>("call-" + std::to_string(number), base);
}

// Of a call before, which may have been this attempt's own when this rank was late: "" where it was sound or none.
std::string last_verdict(const c10::intrusive_ptr<c10d::Store>& base, std::int64_t number) {
  const auto store = store_of_call(base, number);
  if (number < 1 || !Roll::closed(*store)) return "";
  const auto decision = launcher::decision_from_text(store->get_to_str("verdict"));  // with a token it is wrapped: none
  return !decision || decision->ok ? "" : "; the attempt before ended with: " + decision->message;
}

// A registration in a call that nobody has opened would be there, and count, when the rank that left it has ended and
// rank 0 opens the call for the attempt after.
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

// An agent's store outlives an attempt, and agents of several hosts count attempts differently, so rank 0 opens a call
// with a number of its own for each. The others come to the one that is open, or wait for the next where a decision was
// given in the last; when rank 0 opens another before the decision, the one they are in was left by a failed attempt.
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
  if (alone) {  // alone: any free port of this host will do
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
