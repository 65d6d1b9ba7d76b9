// The rendezvous rejects ranks that differ.
#include "runner/launcher/exchange/rendezvous.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace ddpprof::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Registration registration(int rank, int world_size = 3) {
  Registration registration;
  registration.rank = rank;
  registration.world_size = world_size;
  registration.host = "gpu0" + std::to_string(rank);
  registration.pid = 70 + rank;
  registration.nonce = "nonce-" + std::to_string(rank);
  registration.version = "ddpprof 0.1.0, torch 2.11.0";
  registration.strategy = "ddp";
  registration.devices = "cuda over nccl";
  registration.scenario =
      "name: x\nworkload:\n  model:\n    kind: mlp\n  batch_per_worker: 32\nmeasure:\n  steps: 10\n";
  return registration;
}

TEST(Rendezvous, IsCompleteWhenEveryRankCame) {
  Rendezvous roll(registration(0));
  EXPECT_THAT(roll.missing(), ElementsAre(1, 2));
  EXPECT_EQ(roll.add(registration(2)), "");
  EXPECT_EQ(roll.add(registration(2)), "");  // the same process, read twice
  EXPECT_FALSE(roll.complete());
  EXPECT_EQ(roll.add(registration(1)), "");
  EXPECT_TRUE(roll.complete());
  const Decision decision = roll.accepted();
  EXPECT_TRUE(decision.ok);
  EXPECT_EQ(decision.run, "nonce-0");
  EXPECT_EQ(decision.accepted.at(2), "nonce-2");
}

TEST(Rendezvous, NamesWhoIsMissingAndWhoCame) {
  Rendezvous roll(registration(0));
  roll.add(registration(2));
  EXPECT_EQ(roll.absence(10),
            "rank 1 of 3 did not come within 10 s (came: rank 0 (process 70 on gpu00) and rank 2 (process 72 on "
            "gpu02)); see what the missing rank said, and start it with the same MASTER_ADDR and MASTER_PORT");
  EXPECT_THAT(Rendezvous(registration(0)).absence(2.5), HasSubstr("ranks 1 and 2 of 3 did not come within 2.5 s"));
}

TEST(Rendezvous, OfManyNamesEight) {
  const std::string text = Rendezvous(registration(0, 1000)).absence(1);
  EXPECT_THAT(text, HasSubstr("ranks 1, 2, 3, 4, 5, 6, 7, 8 and 991 more of 1000"));
}

TEST(Rendezvous, TheSameRankTwice) {
  Rendezvous roll(registration(0));
  roll.add(registration(1));
  Registration again = registration(1);
  again.nonce = "another";
  again.pid = 99;
  EXPECT_THAT(roll.add(again),
              HasSubstr("rank 1 came twice, as process 71 on gpu01 and as process 99 on gpu01: expected every process "
                        "to have a RANK of its own, from 0 to 2"));
}

TEST(Rendezvous, DifferentWorldSizes) {
  Rendezvous roll(registration(0));
  EXPECT_THAT(roll.add(registration(1, 4)),
              HasSubstr("the ranks differ in WORLD_SIZE: rank 0 (process 70 on gpu00) has 3, "
                        "rank 1 (process 71 on gpu01) has 4"));
  EXPECT_THAT(roll.add(registration(5, 3)), HasSubstr("rank 5 (process 75 on gpu05) came to a run of 3 ranks"));
}

TEST(Rendezvous, DifferentVersionsStrategiesScenarios) {
  Rendezvous roll(registration(0));
  Registration other = registration(1);
  other.version = "ddpprof 0.2.0, torch 2.11.0";
  EXPECT_THAT(roll.add(other), HasSubstr("program versions: rank 0 (process 70 on gpu00) has ddpprof 0.1.0, torch "
                                         "2.11.0, rank 1 (process 71 on gpu01) has ddpprof 0.2.0"));
  other = registration(1);
  other.strategy = "bench-comm";
  EXPECT_THAT(Rendezvous(registration(0)).add(other), HasSubstr("differ in strategy"));
  other = registration(1);
  other.devices = "cpu over gloo";
  EXPECT_THAT(Rendezvous(registration(0)).add(other),
              HasSubstr("different devices: rank 0 (process 70 on gpu00) has cuda over nccl, rank 1 (process 71 on "
                        "gpu01) has cpu over gloo"));
  other = registration(1);
  other.scenario.replace(other.scenario.find("10"), 2, "20");
  EXPECT_THAT(Rendezvous(registration(0)).add(other),
              HasSubstr("have different scenarios, rank 0 (process 70 on gpu00) and "
                        "rank 1 (process 71 on gpu01): measure.steps: 10 and 20"));
}

// /etc/hosts of Debian's installer has "127.0.1.1 gpu00" on gpu00; other hosts ask the name service.
TEST(Rendezvous, AnAddressThatOnlyItsOwnHostReaches) {
  const auto at = [](int rank, const char* address, const char* network) {
    Registration there = registration(rank);
    there.address = address;
    there.network = network;
    return there;
  };
  EXPECT_THAT(Rendezvous(at(0, "127.0.1.1", "a")).add(at(1, "10.0.0.2", "b")),
              HasSubstr("rank 0 (process 70 on gpu00) has the loopback address 127.0.1.1, because MASTER_ADDR (or "
                        "--listen) is loopback on its host; rank 1 (process 71 on gpu01) cannot reach it"));
  EXPECT_THAT(Rendezvous(at(0, "10.0.0.1", "a")).add(at(1, "::1", "b")),
              HasSubstr("rank 1 (process 71 on gpu01) has the loopback address ::1"));
  Rendezvous listens(at(0, "10.0.0.1", "a"));  // --listen; rank 1 on the same host uses the name
  EXPECT_EQ(listens.add(at(1, "127.0.1.1", "a")), "");
  EXPECT_THAT(listens.add(at(2, "10.0.0.2", "b")), HasSubstr("rank 1 (process 71 on gpu01) has the loopback"));
  // Accepted: containers of one network with any host names; hosts with network addresses; unknown networks.
  EXPECT_EQ(Rendezvous(at(0, "127.0.0.1", "a")).add(at(1, "127.0.0.1", "a")), "");
  EXPECT_EQ(Rendezvous(at(0, "10.0.0.1", "a")).add(at(1, "10.0.0.2", "b")), "");
  EXPECT_EQ(Rendezvous(at(0, "127.0.0.1", "a")).add(at(1, "", "")), "");
}

TEST(Rendezvous, TooLate) {
  EXPECT_THAT(Rendezvous::too_late(registration(1), registration(1), 3),
              HasSubstr("its rank 1 is process 71 on gpu01: rank 1 was started"));
  EXPECT_THAT(Rendezvous::too_late(registration(1), std::nullopt, 3), HasSubstr("another process"));
  EXPECT_THAT(Rendezvous::too_late(registration(2), std::nullopt, 2),
              HasSubstr("complete with WORLD_SIZE=2, and rank 2 (process 72 on gpu02) came to it with WORLD_SIZE=3"));
}

TEST(Differences, AreNamedByTheirKey) {
  EXPECT_EQ(first_difference("a: 1\n", "a: 1\n"), "");
  EXPECT_EQ(first_difference("a: 1\ng:\n  b: 2\n  h:\n    c: 3\nd: 4\n", "a: 1\ng:\n  b: 2\n  h:\n    c: 3\nd: 5\n"),
            "d: 4 and 5");
  EXPECT_EQ(first_difference("g:\n  h:\n    c: 3\n", "g:\n  h:\n    c: 4\n"), "g.h.c: 3 and 4");
  EXPECT_EQ(first_difference("a: 1\n", "a: 1\nb: 2\n"), "b: absent and 2");
  EXPECT_EQ(first_difference("m: \"\"\n", "m: x:y\n"), "m: \"\" and x:y");
}

TEST(Cards, SurviveTheStore) {
  Registration odd = registration(1);
  odd.host = "h\"\\";
  odd.address = "10.0.0.2";
  odd.network = "0b3f net:[4026531840]";
  EXPECT_EQ(registration_from_text(to_text(odd)), odd);
  odd.host = "h\n\x1b[2J";  // would overwrite other lines of a terminal
  EXPECT_FALSE(registration_from_text(to_text(odd)));
  for (const char* text :
       {"", "{}", "[1]", "{\"format\":1}", "{\"format\":2,\"rank\":0}", "garbage", "{\"format\":\"1\"}"})
    EXPECT_FALSE(registration_from_text(text)) << text;
  odd.host = "\xff";  // invalid UTF-8 is replaced and causes no exception
  EXPECT_TRUE(registration_from_text(to_text(odd)));
}

// 4294967298 is 2 in 32 bits: such a rank would be taken for rank 2.
TEST(Cards, WithNumbersThatAreNoneOrDoNotFitAreNone) {
  const std::string sound = to_text(registration(2));
  ASSERT_TRUE(registration_from_text(sound));
  for (const char* number : {"4294967298", "-4294967294", "2.0", "2e0", "1e300", "true", "\"2\"", "null", "[2]",
                             "18446744073709551615", "99999999999999999999"}) {
    std::string text = sound;
    const std::string rank = "\"rank\":2";
    text.replace(text.find(rank), rank.size(), "\"rank\":" + std::string(number));
    EXPECT_FALSE(registration_from_text(text)) << number;
  }
}

// Each key would contain the group's name again: with a name of four mebibytes and the rest as values, the keys would
// need terabytes.
TEST(Cards, WhateverTheirScenarioHoldsTheDifferenceFitsALine) {
  Registration other = registration(1);
  other.scenario += std::string(10'000, 'g') + ":\n  k: 1\n";
  EXPECT_THAT(Rendezvous(registration(0)).add(other), HasSubstr("have different scenarios"));
  EXPECT_LT(Rendezvous(registration(0)).add(other).size(), 1000u);
  other.scenario = registration(1).scenario + "k: " + std::string(10'000, 'v') + "\x1b\n";
  EXPECT_LT(Rendezvous(registration(0)).add(other).size(), 1000u);
  other.scenario = registration(1).scenario + "k: \x1b[2J\n";
  EXPECT_THAT(Rendezvous(registration(0)).add(other), HasSubstr("k: absent and ?[2J"));
  other.scenario.assign(2 << 20, 'x');
  EXPECT_FALSE(registration_from_text(to_text(other))) << "no scenario has two mebibytes";
}

TEST(Verdicts, SurviveTheStore) {
  Rendezvous roll(registration(0));
  const auto read = decision_from_text(to_text(roll.accepted()));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->accepted.at(0), "nonce-0");
  for (const char* text : {"", "{}", "1", "{\"ok\":true,\"run\":\"\",\"message\":\"\",\"accepted\":{\"x\":\"y\"}}",
                           "{\"ok\":true,\"run\":\"\",\"message\":\"\",\"accepted\":{\"1x\":\"y\"}}",
                           "{\"ok\":true,\"run\":\"\",\"message\":\"\",\"accepted\":{\"-1\":\"y\"}}",
                           "{\"ok\":1,\"run\":\"\",\"message\":\"\",\"accepted\":{}}"})
    EXPECT_FALSE(decision_from_text(text)) << text;
}

TEST(Nonces, Differ) {
  std::set<std::string> drawn;
  for (int i = 0; i < 1000; ++i) drawn.insert(draw_nonce());
  EXPECT_EQ(drawn.size(), 1000u);
  EXPECT_EQ(drawn.begin()->size(), 16u);
}

TEST(Ranks, AreListed) {
  EXPECT_EQ(ranks_text({"a"}), "a");
  EXPECT_EQ(ranks_text({"a", "b", "c"}), "a, b and c");
  EXPECT_EQ(ranks_text({"1", "2", "3", "4", "5", "6", "7", "8", "9"}), "1, 2, 3, 4, 5, 6, 7, 8 and 9");
  EXPECT_EQ(ranks_text({"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}), "1, 2, 3, 4, 5, 6, 7, 8 and 2 more");
}

}  // namespace
}  // namespace ddpprof::launcher
