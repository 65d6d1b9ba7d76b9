// What ranks and rank 0 say to each other through the store, which anybody may write to who reaches its port: any text
// is a card or a verdict that makes sense, or none.
#include "runner/launcher/roll_call.hpp"

#include <algorithm>

#include "runner/launcher/token.hpp"
#include "tests/fuzz/fuzz_target.hpp"

using namespace ddpprof;

namespace {

launcher::Card own_card() {
  launcher::Card card;
  card.world_size = 4;
  card.host = "gpu00";
  card.pid = 70;
  card.nonce = "0123456789abcdef";
  card.version = "ddpprof 0.1.0, torch 2.11.0";
  card.strategy = "ddp";
  card.devices = "cpu over gloo";
  card.scenario = "name: x\nworkload:\n  model:\n    kind: mlp\n  batch_per_worker: 32\nmeasure:\n  steps: 10\n";
  return card;
}

void be_printable(const std::string& text) {
  fuzz::require(std::ranges::none_of(text, [](unsigned char letter) { return letter < ' ' || letter == 127; }),
                "what is said of a card can be printed");
}

}  // namespace

// A line is what one rank says; also a verdict, and a proof.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = fuzz::text_of(data, size);
  const launcher::Card own = own_card();
  const launcher::Token token("sixteen bytes or more");
  launcher::RollCall roll(own);
  while (!input.empty()) {
    const std::string_view line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(line.size() + 1, input.size()));
    fuzz::require(!token.proves("card", "challenge", line), "no bytes stand for a proof");
    if (const auto card = launcher::card_from_text(line)) {
      fuzz::require(launcher::card_from_text(launcher::to_text(*card)) == card, "a card that is written reads back");
      be_printable(launcher::name_of(*card));
      const std::string wrong = roll.enter(*card);
      if (wrong.empty())
        fuzz::require(card->rank >= 0 && card->rank < own.world_size && card->scenario == own.scenario,
                      "who is entered belongs to the run");
      be_printable(wrong);
      be_printable(launcher::RollCall::too_late(*card, own, 4));
      fuzz::require(launcher::first_difference(card->scenario, card->scenario).empty(),
                    "a scenario differs not from itself");
      fuzz::require(
          launcher::first_difference(card->scenario, own.scenario).empty() == (card->scenario == own.scenario),
          "a difference is found");
    }
    if (const auto verdict = launcher::verdict_from_text(line)) {
      const auto again = launcher::verdict_from_text(launcher::to_text(*verdict));
      fuzz::require(again && again->ok == verdict->ok && again->run == verdict->run &&
                        again->accepted == verdict->accepted && again->message == verdict->message,
                    "a verdict that is written reads back");
      for (const auto& [rank, nonce] : verdict->accepted) fuzz::require(rank >= 0, "a rank is not negative");
    }
  }
  fuzz::require(roll.complete() == roll.missing().empty(), "who is missing is known");
  fuzz::require(roll.accepted().accepted.contains(0), "who keeps the list is on it");
  roll.absence(1.0);
  return 0;
}
