// The rendezvous over a c10d store: the registrations of the ranks, their proofs if there is a token, and the decision
// that all ranks read.
//
// Keys of one call, which meeting.cpp opens:
//   "arrivals"          the number of registrations
//   "arrival/<n>"       the n-th registration
//   "verdict"           the decision, set once; "verdict is there" is set after it
//   "heard"             the number of ranks that read a decision not to run
// With a token also:
//   "challenge"         rank 0's challenge, new in each run
//   "proof/<n>"         the proof over the challenge and the n-th registration
//   "refused/<n>"       the reason why the n-th registration does not belong to this run
// With a token the decision has a proof, too. The nonces in it show that it belongs to this run.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runner/launcher/exchange/rendezvous.hpp"
#include "runner/launcher/exchange/token.hpp"
#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

// The rendezvous failed. The message is one line that names the mistake.
struct MeetingError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr std::chrono::milliseconds rank_0_first{2'000};  // the other ranks wait this much longer than rank 0

class Roll {
 public:
  // `place` is the name of the store in messages. `superseded` returns true if rank 0 has opened a later call in the
  // store; empty if there is only one call. `waited`: the part of `timeout` that this rank has already waited for rank
  // 0.
  Roll(c10d::Store& store, const launcher::Registration& own, const std::optional<launcher::Token>& token,
       const std::string& place, std::chrono::milliseconds timeout, std::function<bool()> superseded = {},
       std::chrono::milliseconds waited = {})
      : store_(store),
        own_(own),
        token_(token),
        place_(place),
        timeout_(timeout),
        waited_(waited),
        superseded_(std::move(superseded)) {}

  // Returns the run's name; nullopt on a rank other than 0 if the call is superseded before its decision. Throws
  // MeetingError.
  std::optional<std::string> call();

  // Returns true if this store has a decision: a rank that comes now belongs to the next call.
  static bool closed(c10d::Store& store);

  // Call it after a decision not to run: the store must exist until the other ranks have read the decision.
  void wait_until_heard();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Entry { undecided, done };

  bool wait_for(const std::string& key, Clock::time_point end);
  std::string enter(launcher::Rendezvous& roll, std::int64_t number);
  launcher::Decision judge();
  launcher::Decision judge_proved();
  Entry admit(launcher::Rendezvous& roll, std::int64_t number, std::string& wrong);
  void refuse(std::int64_t number, const std::string& who, const std::string& why);
  std::optional<launcher::Decision> listen();
  bool answer_challenge();
  launcher::Decision publish(const launcher::Decision& decision);
  launcher::Decision parse(const std::string& text) const;
  std::optional<launcher::Registration> holder(const launcher::Decision& decision);

  c10d::Store& store_;
  const launcher::Registration& own_;
  const std::optional<launcher::Token>& token_;
  const std::string place_;
  const std::chrono::milliseconds timeout_, waited_;
  const std::function<bool()> superseded_;
  std::int64_t number_ = 0;  // of this rank's registration
  std::string challenge_;
  std::vector<std::string> refused_;  // on rank 0
};

}  // namespace ddpprof::worker
