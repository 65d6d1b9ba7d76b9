// Reads bytes in pieces of any size into events, members and damages with their offsets.
#include "analysis/import/json/trace_reader.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

#include "analysis/import/json/event_parser.hpp"
#include "tests/analysis/import/json/framed.hpp"

namespace ddpprof::import {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

std::string event_of(int number) {
  return "{\"ph\": \"X\", \"name\": \"e" + std::to_string(number) + "\", \"ts\": " + std::to_string(number) +
         ".5, \"dur\": 1, \"args\": {\"stream\": 7}}";
}

std::string trace_of(int events) {
  std::string text = "{ \"distributedInfo\": {\"rank\": 1, \"world_size\": 2},\n\"traceEvents\": [\n";
  for (int i = 0; i < events; ++i) text += (i > 0 ? ",\n  " : "  ") + event_of(i);
  return text + "\n],\n\"traceName\" : \"x.json\"\n}\n";
}

TEST(TraceReader, TheSameInPiecesOfAnySize) {
  const std::string text = trace_of(500);
  for (const std::size_t piece : {1UL, 2UL, 63UL, 64UL, 65UL, 4096UL, 1UL << 20}) {
    const Told told = read_text(text, piece);
    ASSERT_EQ(told.events.size(), 500U) << piece;
    for (int i = 0; i < 500; ++i) {
      const Told::Seen& seen = told.events[static_cast<std::size_t>(i)];
      EXPECT_EQ(seen, (Told::Seen{text.find(event_of(i)), "e" + std::to_string(i), i * 1000 + 500, 1000}));
    }
    EXPECT_THAT(told.members, ElementsAre(Pair("distributedInfo", "{\"rank\": 1, \"world_size\": 2}"),
                                          Pair("traceName", "\"x.json\"")));
    EXPECT_THAT(told.member_offsets, ElementsAre(2, text.find("\"traceName\"")));
    EXPECT_THAT(told.damages, IsEmpty());
    EXPECT_EQ(told.tally.text_bytes, text.size());
    EXPECT_EQ(told.tally.events, 500);
    EXPECT_EQ(told.tally.damaged, 0);
    EXPECT_TRUE(told.tally.saw_events && told.tally.complete);
    EXPECT_EQ(told.tally.long_members, 0);
  }
}

TEST(TraceReader, ManyBlocks) {
  const std::string text = trace_of(60'000);  // above 4 MiB
  ASSERT_GT(text.size(), std::size_t{4} << 20);
  for (const std::size_t piece : {99'991UL, 1UL << 22}) {
    const Told told = read_text(text, piece);
    ASSERT_EQ(told.events.size(), 60'000U);
    EXPECT_EQ(told.events[59'999].offset, text.find(event_of(59'999)));
    EXPECT_EQ(told.events[59'999].name, "e59999");
    EXPECT_THAT(told.damages, IsEmpty());
    EXPECT_TRUE(told.tally.complete);
  }
}

TEST(TraceReader, DamageIsToldWhereItStandsAndTheRestIsRead) {
  std::string text = trace_of(30'000);
  const auto spoil = [&](int number, const std::string& what, const std::string& with) {
    const std::size_t begin = text.find(event_of(number));
    text.replace(text.find(what, begin), what.size(), with);
    return begin;
  };
  std::vector<std::pair<std::uint64_t, std::string>> expected;
  expected.emplace_back(spoil(10, "\"ts\": 10.5", "\"ts\": \"ten\""), to_string(EventFlaw::bad_time));
  expected.emplace_back(spoil(1000, "\"dur\": 1", "\"dur\": NaN"), to_string(EventFlaw::bad_duration));
  expected.emplace_back(spoil(15'000, "\"stream\": 7", "\"stream\": 7.5"), to_string(EventFlaw::bad_argument));
  expected.emplace_back(spoil(29'000, "\"name\": ", "\"name\" "), to_string(EventFlaw::not_json));
  for (const std::size_t piece : {7777UL, 1UL << 21}) {
    const Told told = read_text(text, piece);
    EXPECT_EQ(told.damages, expected);
    EXPECT_EQ(told.events.size(), 29'996U);
    EXPECT_EQ(told.tally.damaged, 4);
    EXPECT_TRUE(told.tally.complete);
  }
}

TEST(TraceReader, CutAfterEveryByte) {
  const std::string text = trace_of(5);
  for (std::size_t bytes = 0; bytes < text.size() - 2; ++bytes) {
    const Told told = read_text(text.substr(0, bytes), 50);
    EXPECT_FALSE(told.tally.complete) << bytes;
    EXPECT_EQ(told.damages.size(), 1U) << bytes;
    EXPECT_EQ(told.tally.text_bytes, bytes);
    std::size_t whole = 0;
    for (int i = 0; i < 5; ++i) whole += text.find(event_of(i)) + event_of(i).size() <= bytes ? 1 : 0;
    EXPECT_EQ(told.events.size(), whole) << bytes;
  }
}

// simdjson reads the text after "args" as members, and then looks at the byte after the event.
TEST(TraceReader, WhatFollowsAnEventDoesNotChangeIt) {
  const std::string broken = R"({"ph": "X", "name": "a", "args": "grid": [1, 2, 3], "correlation": 3})";
  const std::size_t alone = read_text("[" + broken).events.size();
  for (const std::string follows : {"}", "},", ",", ":", "]", "\""}) {
    const Told told = read_text("[" + broken + follows + event_of(1) + "]");
    EXPECT_EQ(std::count_if(told.events.begin(), told.events.end(), [](const Told::Seen& e) { return e.name == "a"; }),
              static_cast<std::ptrdiff_t>(alone))
        << follows;
  }
}

TEST(TraceReader, AKeyWithAnEscapedQuoteAndANestedColon) {
  const Told told = read_text(R"({"a\"b: c": 1, "d" : {"x": ":"}, "traceEvents": []})");
  EXPECT_THAT(told.members, ElementsAre(Pair(R"(a\"b: c)", "1"), Pair("d", R"({"x": ":"})")));
}

TEST(TraceReader, WhatReadingThrowsPassesThrough) {
  Told told;
  EXPECT_THROW(read_trace([](std::span<char>) -> std::size_t { throw std::runtime_error("gone"); }, told),
               std::runtime_error);
}

}  // namespace
}  // namespace ddpprof::import
