// The roll-call over a c10d store: the ranks' registrations, with a token their proofs, and the decision that all read.
//
// Keys of one call (meeting.cpp opens it): "arrivals" counts, "arrival/<n>" is the n-th registration, "verdict" is set
// once, "verdict is there" after it, "heard" counts those that read a decision against going on. With a token:
// "challenge" is rank 0's, new in each run; "proof/<n>" is over challenge and n-th registration; "refused/<n>" says why
// the n-th arrival is not of this run; the decision bears a proof, too, and is fresh by the nonces in it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runner/launcher/rendezvous.hpp"
#include "runner/launcher/token.hpp"
#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

// The ranks did not come together. One line that names the mistake.
struct MeetingError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr std::chrono::milliseconds rank_0_first{2'000};  // the others give rank 0 this long to speak first

class Roll {
 public:
  // `place` is what messages call the store. `superseded`: whether rank 0 has opened a later call, elsewhere in the
  // store; empty where there is only one. `waited`: how much of `timeout` a rank but 0 has already waited for rank 0.
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

  // Returns the run's name; nullopt on a rank but 0 where the call is superseded before its decision. Throws
  // MeetingError.
  std::optional<std::string> call();

  // Whether a decision was given in this store: who comes now comes to the next call.
  static bool closed(c10d::Store& store);

  // After a decision against going on: the store must not vanish before the others have read it.
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
  std::int64_t number_ = 0;  // of the own arrival
  std::string challenge_;
  std::vector<std::string> refused_;  // on rank 0
};

}  // namespace ddpprof::worker
