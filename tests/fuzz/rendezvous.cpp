// Messages between ranks through the store. Every process that reaches the port can write to it. Any text gives a valid
// registration or decision, or nothing.
#include "runner/launcher/exchange/rendezvous.hpp"

#include <algorithm>

#include "runner/launcher/exchange/token.hpp"
#include "tests/fuzz/fuzz_target.hpp"

using namespace ddpprof;

namespace {

launcher::Registration own_registration() {
  launcher::Registration registration;
  registration.world_size = 4;
  registration.host = "gpu00";
  registration.pid = 70;
  registration.nonce = "0123456789abcdef";
  registration.version = "ddpprof 0.1.0, torch 2.11.0";
  registration.strategy = "ddp";
  registration.devices = "cpu over gloo";
  registration.scenario =
      "name: x\nworkload:\n  model:\n    kind: mlp\n  batch_per_worker: 32\nmeasure:\n  steps: 10\n";
  return registration;
}

void be_printable(const std::string& text) {
  fuzz::require(std::ranges::none_of(text, [](unsigned char letter) { return letter < ' ' || letter == 127; }),
                "what is said of a card can be printed");
}

}  // namespace

// Each line is the registration of one rank; it is also read as a decision and as a proof.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = fuzz::text_of(data, size);
  const launcher::Registration own = own_registration();
  const launcher::Token token("sixteen bytes or more");
  launcher::Rendezvous roll(own);
  while (!input.empty()) {
    const std::string_view line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(line.size() + 1, input.size()));
    fuzz::require(!token.proves("card", "challenge", line), "no bytes stand for a proof");
    if (const auto registration = launcher::registration_from_text(line)) {
      fuzz::require(launcher::registration_from_text(launcher::to_text(*registration)) == registration,
                    "a card that is written reads back");
      be_printable(launcher::name_of(*registration));
      const std::string wrong = roll.add(*registration);
      if (wrong.empty())
        fuzz::require(
            registration->rank >= 0 && registration->rank < own.world_size && registration->scenario == own.scenario,
            "who is entered belongs to the run");
      be_printable(wrong);
      be_printable(launcher::Rendezvous::too_late(*registration, own, 4));
      fuzz::require(launcher::first_difference(registration->scenario, registration->scenario).empty(),
                    "a scenario differs not from itself");
      fuzz::require(launcher::first_difference(registration->scenario, own.scenario).empty() ==
                        (registration->scenario == own.scenario),
                    "a difference is found");
    }
    if (const auto decision = launcher::decision_from_text(line)) {
      const auto again = launcher::decision_from_text(launcher::to_text(*decision));
      fuzz::require(again && again->ok == decision->ok && again->run == decision->run &&
                        again->accepted == decision->accepted && again->message == decision->message,
                    "a verdict that is written reads back");
      for (const auto& [rank, nonce] : decision->accepted) fuzz::require(rank >= 0, "a rank is not negative");
    }
  }
  fuzz::require(roll.complete() == roll.missing().empty(), "who is missing is known");
  fuzz::require(roll.accepted().accepted.contains(0), "who keeps the list is on it");
  roll.absence(1.0);
  return 0;
}
