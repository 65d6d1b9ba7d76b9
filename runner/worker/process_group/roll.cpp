#include "runner/worker/process_group/roll.hpp"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "runner/launcher/exchange/digest.hpp"

namespace ddpprof::worker {
namespace {

using launcher::Decision;
using launcher::Registration;
using launcher::Rendezvous;
using std::chrono::milliseconds;

constexpr milliseconds until_all_heard{2'000};  // rank 0 serves a decision not to run for this long
constexpr milliseconds between_looks{5}, between_proofs{20};
constexpr milliseconds longest_decision_pause{250};  // between two checks for the decision
constexpr std::int64_t most_strangers = 1'000;       // registrations beyond the number of ranks; later ones are ignored
constexpr int challenge_bytes = 32;
constexpr const char* registration_purpose = "card";
constexpr const char* decision_purpose = "verdict";
constexpr const char* decision_is_there = "verdict is there";

double seconds(milliseconds time) { return std::chrono::duration<double>(time).count(); }

std::string numbered(const char* what, std::int64_t number) { return what + ("/" + std::to_string(number)); }
std::string arrival(std::int64_t number) { return numbered("arrival", number); }

Decision against(const std::string& message) {
  Decision decision;
  decision.message = message;
  return decision;
}

// Makes the text of an unverified process safe for a terminal and for logs.
std::string printable(std::string text) {
  constexpr std::size_t longest = 200;
  if (text.size() > longest) text = text.substr(0, longest) + "…";
  std::ranges::replace_if(
      text, [](unsigned char letter) { return letter < ' ' || letter == 127; }, '?');
  return text;
}

}  // namespace

bool Roll::closed(c10d::Store& store) { return store.check({decision_is_there}); }

std::optional<std::string> Roll::call() {
  number_ = store_.add("arrivals", 1);
  if (token_) store_.set(numbered("guarded", number_), std::string("1"));
  store_.set(arrival(number_), launcher::to_text(own_));
  const bool keeps_list = own_.rank == 0 && store_.add("rank 0", 1) == 1;
  const std::optional<Decision> given = !keeps_list ? listen() : token_ ? judge_proved() : judge();
  if (!given) return std::nullopt;
  const Decision& decision = *given;
  if (!decision.ok) {
    if (!keeps_list) store_.add("heard", 1);
    throw MeetingError((keeps_list ? "" : "rank 0's store at " + place_ + " was reached, but ") + decision.message);
  }
  const auto place = decision.accepted.find(own_.rank);
  if (place == decision.accepted.end() || place->second != own_.nonce)
    throw MeetingError(Rendezvous::too_late(own_, holder(decision), decision.accepted.size()));
  return decision.run;
}

void Roll::wait_until_heard() {
  const auto end = Clock::now() + until_all_heard;
  while (Clock::now() < end && store_.add("heard", 0) < store_.add("arrivals", 0) - 1)
    std::this_thread::sleep_for(between_looks);
}

bool Roll::wait_for(const std::string& key, Clock::time_point end) {
  const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
  try {
    store_.wait({key}, std::max(left, milliseconds{1}));
    return true;
  } catch (const c10::DistStoreError&) {  // timed out
    return false;
  }
}

// Returns the error of the n-th registration, or "".
std::string Roll::enter(Rendezvous& roll, std::int64_t number) {
  const auto registration = launcher::registration_from_text(store_.get_to_str(arrival(number)));
  if (!registration)
    return "a process that is not a ddpprof-worker of this version connected to " + place_ +
           "; give this run a port of its own";
  if (registration->nonce == own_.nonce) return "";
  if (!token_ && store_.check({numbered("guarded", number)}))
    return launcher::name_of(*registration) + " was given a token (--token-file), and " + launcher::name_of(own_) +
           " none; every rank of a run must be given the same";
  return roll.add(*registration);
}

Decision Roll::judge() {
  const auto end = Clock::now() + timeout_;
  Rendezvous roll(own_);
  for (std::int64_t number = 1; !roll.complete(); ++number) {
    if (!wait_for(arrival(number), end)) return publish(against(roll.absence(seconds(timeout_))));
    if (const std::string wrong = enter(roll, number); !wrong.empty()) return publish(against(wrong));
  }
  return publish(roll.accepted());
}

// Only registrations with a valid proof count, also if they have an error. A process without the token cannot end the
// run.
Decision Roll::judge_proved() {
  const auto end = Clock::now() + timeout_;
  Rendezvous roll(own_);
  challenge_ = launcher::random_digits(challenge_bytes);
  store_.set("challenge", challenge_);
  std::vector<std::int64_t> open;  // registrations without a verified proof
  std::int64_t seen = 0;
  while (true) {
    const std::int64_t came = std::min(store_.add("arrivals", 0), own_.world_size + most_strangers);
    while (seen < came) open.push_back(++seen);
    std::string wrong;
    std::erase_if(open, [&](std::int64_t number) {
      return wrong.empty() && !roll.complete() && admit(roll, number, wrong) == Entry::done;
    });
    if (!wrong.empty()) return publish(against(wrong));
    if (roll.complete()) return publish(roll.accepted());
    if (Clock::now() >= end) break;
    std::this_thread::sleep_for(between_proofs);
  }
  std::string text = roll.absence(seconds(timeout_));
  if (!refused_.empty()) text += "; refused: " + launcher::ranks_text(refused_);
  return publish(against(text));
}

Roll::Entry Roll::admit(Rendezvous& roll, std::int64_t number, std::string& wrong) {
  if (!store_.check({arrival(number)})) return Entry::undecided;  // counted, but its registration is not written yet
  const std::string text = store_.get_to_str(arrival(number));
  const auto registration = launcher::registration_from_text(text);
  if (registration && registration->nonce == own_.nonce) return Entry::done;
  if (!registration) {
    refuse(number, "a process", "is not a ddpprof-worker of this version");
    return Entry::done;
  }
  const std::string who =
      printable(launcher::process_of(*registration)) + ", which came as rank " + std::to_string(registration->rank);
  if (!store_.check({numbered("guarded", number)})) {
    refuse(number, who, "was started without this run's token (--token-file)");
    return Entry::done;
  }
  const std::string proof = numbered("proof", number);
  if (!store_.check({proof})) return Entry::undecided;
  if (token_->proves(registration_purpose, challenge_ + text, store_.get_to_str(proof))) {
    wrong = roll.add(*registration);
  } else {
    refuse(number, who, "has another token than rank 0");
  }
  return Entry::done;
}

void Roll::refuse(std::int64_t number, const std::string& who, const std::string& why) {
  store_.set(numbered("refused", number), why);
  refused_.push_back(who + ", which " + why);
  std::cerr << "ddpprof-worker: rank 0 refuses " << who << ": it " << why << "; the run goes on without it"
            << std::endl;
}

// With a token: answers rank 0's challenge. Returns false if there is no challenge yet.
bool Roll::answer_challenge() {
  if (!store_.check({"challenge"})) return false;
  const std::string challenge = store_.get_to_str("challenge");
  store_.set(numbered("proof", number_), token_->prove(registration_purpose, challenge + launcher::to_text(own_)));
  return true;
}

std::optional<Decision> Roll::listen() {
  const milliseconds patience = timeout_ + rank_0_first;
  const auto end = Clock::now() + std::max(patience - waited_, rank_0_first);
  const std::string refused = numbered("refused", number_);
  bool answered = !token_;
  // Checks repeatedly: the store's wait for several keys waits for all of them, and prints a warning if it times out.
  const auto begin = Clock::now();
  do {
    if (closed(store_)) return parse(store_.get_to_str("verdict"));
    if (superseded_ && superseded_()) return std::nullopt;
    if (store_.check({refused}))
      throw MeetingError("rank 0's store at " + place_ + " was reached, and refused this process: it " +
                         printable(store_.get_to_str(refused)) +
                         "; give every rank of a run the same token (docs/guide/network.md)");
    if (!answered) answered = answer_challenge();
    const auto waited = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    std::this_thread::sleep_for(std::clamp(waited / 20, between_looks, longest_decision_pause));
  } while (Clock::now() < end);
  // Rank 0 has not come, or hangs. The registrations in the store show which.
  Rendezvous roll(own_);
  std::string wrong;
  const std::int64_t came = std::min(store_.add("arrivals", 0), own_.world_size + most_strangers);
  for (std::int64_t number = 1; number <= came && wrong.empty(); ++number)
    if (store_.check({arrival(number)})) wrong = enter(roll, number);
  if (wrong.empty() || token_)  // with a token, unverified registrations do not count
    wrong = roll.complete() ? "rank 0 did not read the roll within " + std::to_string(patience.count()) + " ms"
                            : roll.absence(seconds(patience));
  return publish(against(wrong));
}

// The first decision counts, from any rank.
Decision Roll::publish(const Decision& decision) {
  std::string text = launcher::to_text(decision);
  if (token_) text = nlohmann::json{{"verdict", text}, {"proof", token_->prove(decision_purpose, text)}}.dump();
  const std::string held = store_.compareSet("verdict", std::string(), text);
  if (held == text) store_.set(decision_is_there, std::string("1"));
  return parse(held);
}

Decision Roll::parse(const std::string& text) const {
  const auto envelope = nlohmann::json::parse(text, nullptr, false);
  const bool proved = envelope.is_object() && envelope.contains("proof");
  if (!token_ && proved)
    throw MeetingError("the run that meets at " + place_ +
                       " has a token, and this rank was given none: start it with the run's --token-file");
  std::string inner = text;
  if (token_) {
    const bool whole =
        proved && envelope["proof"].is_string() && envelope.contains("verdict") && envelope["verdict"].is_string();
    if (whole) inner = envelope["verdict"].get<std::string>();
    if (!whole || !token_->proves(decision_purpose, inner, envelope["proof"].get_ref<const std::string&>()))
      throw MeetingError("the process that serves " + place_ +
                         (proved ? " has another token than this rank" : " has no token, which this rank has") +
                         ": either it is not this run's rank 0, or rank 0 was not given the same --token-file");
  }
  const auto decision = launcher::decision_from_text(inner);
  if (!decision) throw MeetingError("rank 0 of another version serves " + place_ + ": its decision cannot be read");
  return *decision;
}

// Returns the registration of the process that the run accepted for this rank.
std::optional<Registration> Roll::holder(const Decision& decision) {
  const auto place = decision.accepted.find(own_.rank);
  const std::int64_t came = store_.add("arrivals", 0);
  for (std::int64_t number = 1; number <= came && place != decision.accepted.end(); ++number) {
    if (!store_.check({arrival(number)})) continue;
    auto registration = launcher::registration_from_text(store_.get_to_str(arrival(number)));
    if (registration && registration->nonce == place->second) return registration;
  }
  return std::nullopt;
}

}  // namespace ddpprof::worker
