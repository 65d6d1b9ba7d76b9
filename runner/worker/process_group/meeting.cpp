#include "runner/worker/process_group/meeting.hpp"
#include "runner/worker/first_line.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <thread>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "runner/host/network.hpp"
#include "runner/launcher/deadline.hpp"
#include "runner/launcher/master.hpp"

namespace ddpprof::worker {
namespace {

using Clock = std::chrono::steady_clock;
using launcher::Card;
using launcher::RollCall;
using launcher::Verdict;
using std::chrono::milliseconds;

constexpr milliseconds rank_0_first{2'000};     // the others give rank 0 this long to speak before they do
constexpr milliseconds beyond_c10d{15'000};     // after which a call into c10d that should have ended is given up
constexpr milliseconds until_all_heard{2'000};  // that rank 0 goes on serving a verdict nobody can go on with
constexpr milliseconds between_looks{5};

double seconds(milliseconds time) { return std::chrono::duration<double>(time).count(); }

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

// Keys: "arrivals" counts, "arrival/<n>" is the n-th card, "verdict" is set once, "verdict is there" after it, "heard"
// counts those that read a verdict against going on.
class Roll {
 public:
  Roll(c10d::Store& store, const Card& own, const std::string& place, milliseconds timeout)
      : store_(store), own_(own), place_(place), timeout_(timeout) {}

  // Returns the run's name. Throws MeetingError.
  std::string call() {
    const auto number = store_.add("arrivals", 1);
    store_.set(arrival(number), launcher::to_text(own_));
    const bool keeps_list = own_.rank == 0 && store_.add("rank 0", 1) == 1;
    const Verdict verdict = keeps_list ? judge() : listen();
    if (!verdict.ok) {
      if (!keeps_list) store_.add("heard", 1);
      throw MeetingError((keeps_list ? "" : "rank 0's store at " + place_ + " was reached, but ") + verdict.message);
    }
    const auto place = verdict.accepted.find(own_.rank);
    if (place == verdict.accepted.end() || place->second != own_.nonce)
      throw MeetingError(RollCall::too_late(own_, holder(verdict), verdict.accepted.size()));
    return verdict.run;
  }

  // After a verdict against going on: the store must not vanish before the others have read it.
  void wait_until_heard() {
    const auto end = Clock::now() + until_all_heard;
    while (Clock::now() < end && store_.add("heard", 0) < store_.add("arrivals", 0) - 1)
      std::this_thread::sleep_for(between_looks);
  }

 private:
  static std::string arrival(std::int64_t number) { return "arrival/" + std::to_string(number); }

  bool wait_for(const std::string& key, Clock::time_point end) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    try {
      store_.wait({key}, std::max(left, milliseconds{1}));
      return true;
    } catch (const c10::DistStoreError&) {  // the time is over
      return false;
    }
  }

  // What is wrong with the n-th card, or "".
  std::string enter(RollCall& roll, std::int64_t number) {
    const auto card = launcher::card_from_text(store_.get_to_str(arrival(number)));
    if (!card)
      return "somebody who is no ddpprof-worker of this version came to " + place_ +
             "; give this run a port "
             "of its own";
    return card->nonce == own_.nonce ? "" : roll.enter(*card);
  }

  Verdict judge() {
    const auto end = Clock::now() + timeout_;
    RollCall roll(own_);
    for (std::int64_t number = 1; !roll.complete(); ++number) {
      if (!wait_for(arrival(number), end)) return publish(against(roll.absence(seconds(timeout_))));
      if (const std::string wrong = enter(roll, number); !wrong.empty()) return publish(against(wrong));
    }
    return publish(roll.accepted());
  }

  Verdict listen() {
    const milliseconds patience = timeout_ + rank_0_first;
    if (wait_for("verdict is there", Clock::now() + patience)) return read_verdict();
    // Rank 0 has not come, or is stuck: what is there says the rest.
    RollCall roll(own_);
    std::string wrong;
    const std::int64_t came = store_.add("arrivals", 0);
    for (std::int64_t number = 1; number <= came && wrong.empty(); ++number)
      if (store_.check({arrival(number)})) wrong = enter(roll, number);
    if (wrong.empty())
      wrong = roll.complete() ? "rank 0 did not read the roll within " + std::to_string(patience.count()) + " ms"
                              : roll.absence(seconds(patience));
    return publish(against(wrong));
  }

  static Verdict against(const std::string& message) {
    Verdict verdict;
    verdict.message = message;
    return verdict;
  }

  // The first verdict holds, whoever gives it.
  Verdict publish(const Verdict& verdict) {
    const std::string text = launcher::to_text(verdict);
    const std::string held = store_.compareSet("verdict", std::string(), text);
    if (held == text) store_.set("verdict is there", std::string("1"));
    return parse(held);
  }

  Verdict read_verdict() { return parse(store_.get_to_str("verdict")); }

  Verdict parse(const std::string& text) const {
    const auto verdict = launcher::verdict_from_text(text);
    if (!verdict) throw MeetingError("rank 0 of another version serves " + place_ + ": its verdict cannot be read");
    return *verdict;
  }

  // The card of the process that the run accepted for our rank.
  std::optional<Card> holder(const Verdict& verdict) {
    const auto place = verdict.accepted.find(own_.rank);
    const std::int64_t came = store_.add("arrivals", 0);
    for (std::int64_t number = 1; number <= came && place != verdict.accepted.end(); ++number) {
      if (!store_.check({arrival(number)})) continue;
      auto card = launcher::card_from_text(store_.get_to_str(arrival(number)));
      if (card && card->nonce == place->second) return card;
    }
    return std::nullopt;
  }

  c10d::Store& store_;
  const Card& own_;
  const std::string place_;
  const milliseconds timeout_;
};

c10::intrusive_ptr<c10d::Store> reach_store(const RankEnvironment& environment, bool serves, milliseconds timeout,
                                            std::string& place) {
  c10d::TCPStoreOptions options;
  options.port = environment.master_port;
  options.isServer = serves;
  options.numWorkers = static_cast<std::size_t>(environment.world_size);
  options.waitWorkers = false;  // the roll-call says who is missing
  options.timeout = timeout;
  options.masterListenFd = environment.master_listen_socket;
  launcher::ListeningSocket own;
  if (serves && !environment.master_listen_socket) {
    own = launcher::open_master(environment.master_address, environment.master_port);
    options.port = own.port();
    options.masterListenFd = fcntl(own.descriptor(), F_DUPFD_CLOEXEC, 0);  // the store closes what it is given
  }
  place = environment.master_address + ":" + std::to_string(options.port);
  const auto end = Clock::now() + timeout;
  {
    const Guard guard(environment.rank,
                      "resolving or reaching MASTER_ADDR=" + environment.master_address + " does not end",
                      timeout + beyond_c10d);
    launcher::reach_master(environment.master_address, options.port, timeout, serves);
  }
  const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
  const Guard guard(environment.rank,
                    place +
                        " accepts connections but is silent: expected rank 0's store there, found another program "
                        "or a rank 0 that is stuck",
                    std::max(left, milliseconds{0}) + beyond_c10d);
  try {
    return c10::make_intrusive<c10d::TCPStore>(environment.master_address, options);
  } catch (const c10::DistError& error) {
    throw MeetingError(
        place + " accepts connections but is not rank 0's store (another program?): " + first_line(error.what()));
  }
}

}  // namespace

Meeting meet(const RankEnvironment& environment, Card own, milliseconds timeout) {
  own.rank = environment.rank;
  own.world_size = environment.world_size;
  own.host = host::host_name();
  own.pid = getpid();
  own.nonce = launcher::draw_nonce();
  RankEnvironment where = environment;
  if (where.world_size == 1 && !where.master_listen_socket) {  // alone: any free port of this host will do
    where.master_address = "127.0.0.1";
    where.master_port = 0;
    where.store_elsewhere = false;
  }
  const bool serves = where.rank == 0 && !where.store_elsewhere;
  std::string place;
  Meeting meeting;
  try {
    const auto shared = reach_store(where, serves, timeout, place);
    // An agent's store outlives a failed attempt: without its number the attempt's cards would be found again.
    meeting.store = c10::make_intrusive<c10d::PrefixStore>(
        "ddpprof/" + where.run_id + "/attempt-" + std::to_string(where.attempt), shared);
  } catch (const launcher::MasterError& error) {
    throw MeetingError(error.what());
  }
  const Guard guard(where.rank, "rank 0's store at " + place + " stopped answering: is rank 0's process stopped?",
                    timeout + rank_0_first + beyond_c10d);
  Roll roll(*meeting.store, own, place, timeout);
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
