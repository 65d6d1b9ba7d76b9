// The values read from an event, and the events that are rejected.
#include "analysis/import/json/event_parser.hpp"

#include <gtest/gtest.h>

#include <string>

namespace ddpprof::import {
namespace {

// Keeps the parser and the text alive with the event.
struct Parsed {
  explicit Parsed(std::string json) : text(std::move(json)) {
    const std::size_t bytes = text.size();
    text.append(event_padding_bytes, '\0');
    flaw = parser.parse({text.data(), bytes}, event);
  }
  std::string text;
  EventParser parser;
  Event event;
  EventFlaw flaw;
  const Event::Arguments& arguments() const { return event.arguments; }
};

TEST(EventParser, ReadsAKernelWithAllItsArguments) {
  const Parsed parsed(R"({
    "ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": "stream 7",
    "ts": 4458676522690.655, "dur": 12.5,
    "args": {
      "External id": 3, "queued": 0, "device": 1, "context": 1, "stream": 20, "correlation": 77, "bytes": 4096,
      "registers per thread": 32, "shared memory": 100, "blocks per SM": 0.5, "warps per SM": 4.0,
      "grid": [24, 2, 1], "block": [512, 1, 2], "est. achieved occupancy %": 0, "cbid": 211,
      "Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 2000, "Group size": 2,
      "dtype": "Float", "Process Group Name": "0", "Process Group Description": "default_pg",
      "Process Group Ranks": "[0, 1]", "Seq": 9, "Sequence number": 55, "Fwd thread id": 2,
      "Input Dims": [[64, 784], [], [1024]], "Input type": ["float", "", "float"], "kernel": "k", "name": "n"
    }})");
  ASSERT_EQ(parsed.flaw, EventFlaw::none);
  EXPECT_EQ(parsed.event.phase, 'X');
  EXPECT_EQ(parsed.event.category, "kernel");
  EXPECT_EQ(parsed.event.name, "ncclDevKernel_AllReduce");
  EXPECT_EQ(parsed.event.pid, "0");
  EXPECT_EQ(parsed.event.tid, "stream 7");
  EXPECT_EQ(parsed.event.start_ns, 4458676522690655);
  EXPECT_EQ(parsed.event.duration_ns, 12500);
  const Event::Arguments& arguments = parsed.arguments();
  EXPECT_EQ(arguments.external_id, 3);
  EXPECT_EQ(arguments.device, 1);
  EXPECT_EQ(arguments.stream, 20);
  EXPECT_EQ(arguments.correlation, 77);
  EXPECT_EQ(arguments.bytes, 4096);
  EXPECT_EQ(arguments.registers, 32);
  EXPECT_EQ(arguments.shared_bytes, 100);
  EXPECT_EQ(arguments.grid, 48);
  EXPECT_EQ(arguments.block, 1024);
  EXPECT_EQ(arguments.callback, 211);
  EXPECT_EQ(arguments.collective, "allreduce");
  EXPECT_EQ(arguments.in_elements, 1000);
  EXPECT_EQ(arguments.out_elements, 2000);
  EXPECT_EQ(arguments.group_size, 2);
  EXPECT_EQ(arguments.dtype, "Float");
  EXPECT_EQ(arguments.group, "0");
  EXPECT_EQ(arguments.group_description, "default_pg");
  EXPECT_EQ(arguments.group_ranks, "[0, 1]");
  EXPECT_EQ(arguments.collective_sequence, 9);
  EXPECT_EQ(arguments.sequence_number, 55);
  EXPECT_EQ(arguments.forward_thread, 2);
  EXPECT_EQ(arguments.input_shapes, "[[64, 784], [], [1024]]");
  EXPECT_EQ(arguments.input_types, R"(["float", "", "float"])");
  EXPECT_EQ(arguments.kernel, "k");
  EXPECT_EQ(arguments.label, "n");
}

TEST(EventParser, WhatIsNotThereIsNone) {
  const Parsed parsed("{}");
  EXPECT_EQ(parsed.flaw, EventFlaw::none);
  EXPECT_EQ(parsed.event.phase, 0);
  EXPECT_TRUE(parsed.event.name.empty() && parsed.event.category.empty());
  EXPECT_FALSE(parsed.event.start_ns || parsed.event.duration_ns || parsed.arguments().correlation);
}

TEST(EventParser, NothingIsLeftOfTheEventBefore) {
  Parsed parsed(R"({"ph": "X", "name": "a", "ts": 1, "args": {"correlation": 5, "grid": [2, 2, 2]}})");
  std::string text = "{\"ph\": \"M\"}" + std::string(event_padding_bytes, '\0');
  EXPECT_EQ(parsed.parser.parse({text.data(), text.size() - event_padding_bytes}, parsed.event), EventFlaw::none);
  EXPECT_EQ(parsed.event.phase, 'M');
  EXPECT_TRUE(parsed.event.name.empty());
  EXPECT_FALSE(parsed.event.start_ns || parsed.arguments().correlation);
  EXPECT_EQ(parsed.arguments().grid, 0);
}

TEST(EventParser, Escapes) {
  const Parsed parsed(
      R"({"n\u0061me": "a\"b\\c\n\u00fc\ud83d\ude00\/", "args": {"corre\u006cation": 4}, "ph": "\u0058"})");
  ASSERT_EQ(parsed.flaw, EventFlaw::none);
  EXPECT_EQ(parsed.event.name, "a\"b\\c\n\xC3\xBC\xF0\x9F\x98\x80/");
  EXPECT_EQ(parsed.event.phase, 'X');
  EXPECT_EQ(parsed.arguments().correlation, 4);
}

TEST(EventParser, OfKeysThatStandTwiceTheLastCounts) {
  const Parsed parsed(R"({"ts": 1, "name": "a", "ts": 2, "name": "b", "args": {"stream": 1, "stream": 2}})");
  EXPECT_EQ(parsed.flaw, EventFlaw::none);
  EXPECT_EQ(parsed.event.start_ns, 2000);
  EXPECT_EQ(parsed.event.name, "b");
  EXPECT_EQ(parsed.arguments().stream, 2);
  EXPECT_EQ(Parsed(R"({"ts": "x", "dur": null, "ts": 3, "dur": 4})").flaw, EventFlaw::none);
  EXPECT_EQ(Parsed(R"({"ts": 3, "ts": "x"})").flaw, EventFlaw::bad_time);
}

TEST(EventParser, NumbersInQuotesAreNumbers) {
  const Parsed parsed(R"({"ts": "1669783687464181.5", "dur": "3", "pid": "12", "args": {"correlation": "7"}})");
  EXPECT_EQ(parsed.flaw, EventFlaw::none);
  EXPECT_EQ(parsed.event.start_ns, 1669783687464181500);
  EXPECT_EQ(parsed.event.duration_ns, 3000);
  EXPECT_EQ(parsed.event.pid, "12");
  EXPECT_EQ(parsed.arguments().correlation, 7);
}

TEST(EventParser, TimesThatAreNoNumbers) {
  for (const std::string value : {"NaN", "Infinity", "-Infinity", "null", "true", "\"soon\"", "\"\"", "[1]", "{}",
                                  "1e99", "9223372036854775808"}) {
    EXPECT_EQ(Parsed("{\"name\": \"a\", \"ts\": " + value + "}").flaw, EventFlaw::bad_time) << value;
    EXPECT_EQ(Parsed("{\"ts\": 1, \"dur\": " + value + "}").flaw, EventFlaw::bad_duration) << value;
  }
}

TEST(EventParser, ArgumentsOfAnotherType) {
  for (const std::string value : {"\"none\"", "null", "\"\"", "true", "{}", "[]"}) {
    const Parsed parsed("{\"args\": {\"correlation\": " + value + ", \"stream\": 3}}");
    EXPECT_EQ(parsed.flaw, EventFlaw::none) << value;
    EXPECT_EQ(parsed.arguments().correlation, std::nullopt) << value;
    EXPECT_EQ(parsed.arguments().stream, 3) << value;
  }
  for (const std::string value : {"1.5", "NaN", "99999999999999999999", "-1e30"})
    EXPECT_EQ(Parsed("{\"args\": {\"correlation\": " + value + "}}").flaw, EventFlaw::bad_argument) << value;
  for (const std::string grid : {"[1, -2, 3]", "[1, \"x\", 3]", "[9000000000, 9000000000, 9000000000]", "[1.5]"})
    EXPECT_EQ(Parsed("{\"args\": {\"grid\": " + grid + "}}").flaw, EventFlaw::bad_argument) << grid;
  for (const std::string arguments : {"5", "null", "\"text\"", "[1, 2]"}) {
    const Parsed parsed("{\"args\": " + arguments + ", \"name\": \"a\"}");
    EXPECT_EQ(parsed.flaw, EventFlaw::none) << arguments;
    EXPECT_EQ(parsed.event.name, "a");
  }
  const Parsed parsed(R"({"name": 5, "cat": null, "ph": "XY", "tid": 1.5, "pid": -3, "args": {"grid": "24"}})");
  EXPECT_EQ(parsed.flaw, EventFlaw::none);
  EXPECT_EQ(parsed.event.name, "5");
  EXPECT_EQ(parsed.event.phase, 0);
  EXPECT_EQ(parsed.event.tid, "1.5");
  EXPECT_EQ(parsed.event.pid, "-3");
}

TEST(EventParser, ValuesThatAreNotReadMayBeAnything) {
  const Parsed parsed(R"({"id": NaN, "args": {"occupancy %": inf, "deep": [[{"a": [1]}]], "stream": 2}, "name": "a"})");
  EXPECT_EQ(parsed.flaw, EventFlaw::none);
  EXPECT_EQ(parsed.event.name, "a");
  EXPECT_EQ(parsed.arguments().stream, 2);
}

TEST(EventParser, WhatIsNoObject) {
  for (const std::string text : {"", "[]", "5", "{", "{\"a\"", "{\"a\": }", "{\"ph\": \"X\" \"name\": \"a\"}",
                                 "{name: 1}", "{\"name\": \"\\q\"}", "{\"name\": \"\\ud800\"}", "{\"name\": \"a\nb\"}"})
    EXPECT_EQ(Parsed(text).flaw, EventFlaw::not_json) << text;
}

TEST(EventParser, WhatIsNoUtf8ReadsAsReplacementCharacters) {
  const std::string sign = "\xEF\xBF\xBD";
  const std::pair<std::string, std::string> cases[] = {
      {"caf\xE9.py", "caf" + sign + ".py"},
      {"\xFF\xFE", sign + sign},
      {"\xC3\xBC\xC3", "\xC3\xBC" + sign},
      {"\xE2\x82\xAC\xE2\x82", "\xE2\x82\xAC" + sign + sign},
      {"\xC0\xAF", sign + sign},
      {"\xED\xA0\x80", sign + sign + sign},
      {"\xF4\x90\x80\x80", sign + sign + sign + sign},
      {"\xF0\x9F\x98\x80\x80", "\xF0\x9F\x98\x80" + sign},
  };
  for (const auto& [written, read] : cases) {
    const Parsed parsed("{\"ph\": \"X\", \"name\": \"" + written + "\", \"ts\": 7, \"args\": {\"stream\": 1}}");
    EXPECT_EQ(parsed.flaw, EventFlaw::none) << written;
    EXPECT_EQ(parsed.event.name, read);
    EXPECT_EQ(parsed.event.start_ns, 7000);
    EXPECT_EQ(parsed.arguments().stream, 1);
  }
}

}  // namespace
}  // namespace ddpprof::import
