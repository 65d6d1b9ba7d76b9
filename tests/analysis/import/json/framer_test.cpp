// Begin and end of events: for sound texts as found by a whole-file JSON parser, for damaged texts as expected by hand;
// the result must not depend on how the text is cut into pieces.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <random>

#include "tests/analysis/import/json/framed.hpp"

namespace ddpprof::import {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string a = R"({"ph":"X","name":"a","args":{"n":[1,{"x":"}]"}]}})";
const std::string b = R"({"ph": "X", "name": "b \" { [ \\", "dur": 5})";
const std::string c = "{\n  \"ph\": \"X\",\n  \"name\": \"c\"\n }";

std::string trace_of(const std::vector<std::string>& events, const std::string& between = ",\n") {
  std::string text = "{\"schemaVersion\": 1, \"info\": {\"a\": [1, \"]}\"]},\n \"traceEvents\": [\n";
  for (std::size_t i = 0; i < events.size(); ++i) text += (i > 0 ? between : "") + events[i];
  return text + "\n], \"name\": \"x\\\"}\", \"after\": [[{}]] }\n";
}

// Requires the same result for every cut in two, for pieces of one byte, and for many random cuts.
Framed framed_however_cut(const std::string& text) {
  const Framed whole = frame(text, {text.size() + 1});
  for (const bool end_alone : {true, false}) {
    EXPECT_EQ(frame(text, {1}, end_alone), whole) << text;
    EXPECT_EQ(frame(text, {text.size() + 1}, end_alone), whole) << text;
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      const Framed cut_there = frame(text, {cut, text.size()}, end_alone);
      EXPECT_EQ(cut_there, whole) << "cut at " << cut << ":\n" << text;
      if (cut_there != whole) return whole;
    }
  }
  std::mt19937 random(static_cast<unsigned>(text.size()));
  for (int i = 0; i < 200; ++i) {
    std::vector<std::size_t> sizes;
    for (int n = 0; n < 7; ++n) sizes.push_back(1 + random() % (n % 2 == 0 ? 200 : 20));
    EXPECT_EQ(frame(text, sizes), whole) << text;
  }
  return whole;
}

TEST(Framer, AnObjectWithMembersBeforeAndAfterTheEvents) {
  const std::string text = trace_of({a, b, c});
  const Framed framed = framed_however_cut(text);
  EXPECT_THAT(framed.event_texts(), ElementsAre(a, b, c));
  EXPECT_THAT(framed.damages, IsEmpty());
  EXPECT_TRUE(framed.saw_events && framed.complete);
  std::vector<std::string> members;
  for (const auto& [at, member] : framed.members) {
    EXPECT_EQ(text.substr(at, member.size()), member);
    members.push_back(member);
  }
  EXPECT_THAT(members, ElementsAre("\"schemaVersion\": 1", R"("info": {"a": [1, "]}"]})", R"("name": "x\"}")",
                                   "\"after\": [[{}]] "));
  for (const auto& [at, event] : framed.events) EXPECT_EQ(text.substr(at, event.size()), event);
}

TEST(Framer, ABareArray) {
  const Framed framed = framed_however_cut("[" + a + "," + b + " , " + c + "]\n");
  EXPECT_THAT(framed.event_texts(), ElementsAre(a, b, c));
  EXPECT_THAT(framed.damages, IsEmpty());
  EXPECT_TRUE(framed.complete);
}

TEST(Framer, ABareArrayNeedsNoEnd) {
  for (const std::string end : {"", ",", ",\n"}) {
    const Framed framed = framed_however_cut("[" + a + "," + b + end);
    EXPECT_THAT(framed.event_texts(), ElementsAre(a, b));
    EXPECT_THAT(framed.damages, IsEmpty());
  }
}

TEST(Framer, NoEvents) {
  for (const std::string text : {"{\"traceEvents\": []}", "[]", "{\"traceEvents\":[ \n ] }"}) {
    const Framed framed = framed_however_cut(text);
    EXPECT_THAT(framed.events, IsEmpty());
    EXPECT_THAT(framed.damages, IsEmpty());
    EXPECT_TRUE(framed.saw_events && framed.complete);
  }
  for (const std::string text : {"{}", "{\"a\": 1}", "{\"traceEvents\": 5}", "{\"traceEvents\": {\"a\": [{}]}}",
                                 "{\"a\": {\"traceEvents\": [{}]}}", "{\"a\": \"traceEvents\", \"b\": [{}]}"}) {
    const Framed framed = framed_however_cut(text);
    EXPECT_THAT(framed.events, IsEmpty()) << text;
    EXPECT_FALSE(framed.saw_events) << text;
  }
}

TEST(Framer, WhatIsNotJson) {
  for (const std::string text : {"", " \n ", "<html>", "80", "hello", "\xEF\xBB\xBF"}) {
    const Framed framed = framed_however_cut(text);
    EXPECT_EQ(framed.damages.size(), 1U) << text;
    EXPECT_FALSE(framed.saw_events);
  }
  const Framed marked = framed_however_cut("\xEF\xBB\xBF" + trace_of({a}));
  EXPECT_THAT(marked.event_texts(), ElementsAre(a));
  EXPECT_THAT(marked.damages, IsEmpty());
}

TEST(Framer, AMissingQuoteCostsItsEvent) {
  const std::string broken = R"({"ph":"X","name":"a,"cat":"k","args":{"n":1}})";
  for (const std::string between : {",", ",\n", " ,\r\n  "}) {  // on one line, too
    const std::string text = trace_of({a, broken, b, c, a}, between);
    const Framed framed = framed_however_cut(text);
    EXPECT_THAT(framed.event_texts(), ElementsAre(a, b, c, a)) << framed;
    ASSERT_EQ(framed.damages.size(), 1U) << framed;
    EXPECT_EQ(framed.damages[0].first, text.find(broken));
  }
}

TEST(Framer, AMissingBraceCostsItsEvent) {
  const std::string broken = R"({"ph":"X","name":"a","args":{"n":1})";
  for (const std::string between : {",", ",\n"}) {
    const std::string text = trace_of({a, broken, b, c, a}, between);
    const Framed framed = framed_however_cut(text);
    EXPECT_THAT(framed.event_texts(), ElementsAre(a, b, c, a)) << framed;
    ASSERT_EQ(framed.damages.size(), 1U) << framed;
    EXPECT_EQ(framed.damages[0].first, text.find(broken));
    EXPECT_TRUE(framed.complete) << framed;
  }
}

TEST(Framer, ABracketOfTheOtherKindCostsItsEvent) {
  const std::string broken = R"({"ph":"X","name":"a","args":{"n":1]})";
  const Framed framed = framed_however_cut(trace_of({a, broken, b, a}));
  EXPECT_THAT(framed.event_texts(), ElementsAre(a, b, a)) << framed;
  EXPECT_EQ(framed.damages.size(), 1U) << framed;
}

TEST(Framer, AStrayClosingBracketCostsNothingElse) {
  const Framed brace = framed_however_cut(trace_of({a, b + "}", c, a}));
  EXPECT_THAT(brace.event_texts(), ElementsAre(a, b, c, a));
  EXPECT_EQ(brace.damages.size(), 1U);
  EXPECT_TRUE(brace.complete);
}

TEST(Framer, ARawLineBreakInAString) {
  const Framed framed = framed_however_cut(trace_of({a, "{\"name\": \"two\nlines\"}", b, a}));
  EXPECT_THAT(framed.event_texts(), ElementsAre(a, b, a));
  EXPECT_EQ(framed.damages.size(), 1U);
}

TEST(Framer, WhatIsNoObjectBetweenEvents) {
  const Framed framed = framed_however_cut(trace_of({a, "5", b, "\"text {\"", "null", c, "[1, [2, {}]]", a}));
  EXPECT_THAT(framed.event_texts(), ElementsAre(a, b, c, a));
  EXPECT_EQ(framed.damages.size(), 3U) << framed;  // text between two events counts once
}

TEST(Framer, DamageInTheLastEventLeavesTheOthers) {
  for (const std::string broken :
       {R"({"ph":"X","name":"a)", R"({"ph":"X","name":"a,"cat":"k"})", R"({"ph":"X","args":{"n":1})"}) {
    for (const std::string end : {"", "]}", "\n], \"x\": 1}"}) {
      const std::string text = "{\"traceEvents\": [" + a + "," + b + "," + broken + end;
      const Framed framed = framed_however_cut(text);
      EXPECT_THAT(framed.event_texts(), ElementsAre(a, b)) << framed;
      ASSERT_GE(framed.damages.size(), 1U);
      EXPECT_EQ(framed.damages[0].first, text.rfind(broken));
    }
  }
}

TEST(Framer, ASecondArrayOfEventsIsReadAndSaid) {
  const Framed framed = framed_however_cut("{\"traceEvents\": [" + a + "], \"traceEvents\": [" + b + "]}");
  EXPECT_THAT(framed.event_texts(), ElementsAre(a, b));
  EXPECT_EQ(framed.damages.size(), 1U);
}

TEST(Framer, CutAfterEveryByteGivesTheEventsBeforeIt) {
  const std::string text = trace_of({a, b, c, a});
  const Framed whole = frame(text);
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
    const Framed framed = frame(text.substr(0, bytes), {17});
    EXPECT_EQ(framed, frame(text.substr(0, bytes))) << bytes;
    std::vector<std::pair<std::size_t, std::string>> expected;
    for (const auto& event : whole.events)
      if (event.first + event.second.size() <= bytes) expected.push_back(event);
    EXPECT_EQ(framed.events, expected) << text.substr(0, bytes);
    const bool ended = text.find_first_not_of(" \n", bytes) == std::string::npos;
    EXPECT_EQ(framed.complete, ended) << bytes;
    EXPECT_EQ(framed.damages.size(), ended ? 0U : 1U) << bytes << framed;
  }
}

TEST(Framer, TooLongAnEventCostsItselfHoweverItCame) {
  const auto event_of = [](std::size_t bytes) {
    std::string event = R"({"ph":"X","name":")";
    return event + std::string(bytes - event.size() - 2, 'n') + "\"}";
  };
  const std::string longest = event_of(Framer::largest_event_bytes), longer = event_of(longest.size() + 1),
                    much_longer = event_of(10'000'000);
  const std::string text = trace_of({a, longest, b, longer, c, much_longer, a});
  for (const std::size_t piece : {std::size_t{1} << 16, std::size_t{1} << 20, text.size()}) {
    const Framed framed = frame(text, {piece});
    EXPECT_EQ(framed.events.size(), 5U) << piece << framed;
    EXPECT_EQ(framed.damages.size(), 2U) << piece << framed;
    EXPECT_TRUE(framed.complete);
  }
}

TEST(Framer, TooLongAMemberIsPassedOver) {
  const std::string text = "{\"first\": 1, \"long\": \"" + std::string(5'000'000, 'm') + "\", \"second\": 2, " +
                           "\"list\": [" + std::string(1'500'000, ' ') + "{}], \"traceEvents\": [" + a + "]}";
  for (const std::size_t piece : {std::size_t{1000}, std::size_t{1} << 20, text.size()}) {
    const Framed framed = frame(text, {piece});
    EXPECT_THAT(framed.event_texts(), ElementsAre(a));
    EXPECT_EQ(framed.members.size(), 2U) << framed;
    EXPECT_EQ(framed.long_members, 2) << "once each";
    EXPECT_THAT(framed.damages, IsEmpty());
  }
}

TEST(Framer, KeepsLittleOfTextBetweenEvents) {
  Framer framer;
  std::string held = "[" + a + ",";
  const std::string zeros(std::size_t{1} << 20, '\0');
  std::size_t most = 0, damages = 0, events = 0;
  for (int i = 0; i < 40; ++i) {
    held += i < 39 ? zeros : "," + b + "," + c + "]";
    framer.scan(held.data(), held.size(), i == 39);
    damages += framer.damages().size();
    events += framer.events().size();
    const std::size_t needed = framer.needed();
    framer.drop(needed);
    held.erase(0, needed);
    most = std::max(most, held.size());
  }
  EXPECT_EQ(events, 3U);
  EXPECT_GE(damages, 1U);
  EXPECT_LE(most, 2 * Framer::largest_event_bytes);
}

// A random value with arrays and objects nested to the given depth.
nlohmann::json value_of(std::mt19937& random, int depth) {
  static const std::vector<std::string> texts = {"", "a", "{", "}", "\"", "\\", "],[", "},{", "\n", "ü", "\\\"", ":"};
  switch (random() % (depth > 0 ? 6 : 4)) {
    case 0:
      return random() % 1000;
    case 1:
      return nullptr;
    case 2:
    case 3:
      return texts[random() % texts.size()] + texts[random() % texts.size()];
    case 4: {
      nlohmann::json list = nlohmann::json::array();
      for (auto n = random() % 4; n > 0; --n) list.push_back(value_of(random, depth - 1));
      return list;
    }
    default: {
      nlohmann::json object = nlohmann::json::object();
      for (auto n = random() % 4; n > 0; --n)
        object[texts[random() % texts.size()] + std::to_string(n)] = value_of(random, depth - 1);
      return object;
    }
  }
}

TEST(Framer, FindsWhatAWholeFileParserFinds) {
  std::mt19937 random(23);
  for (int round = 0; round < 400; ++round) {
    nlohmann::ordered_json document;
    const auto members = [&](const std::string& name) {
      for (auto n = random() % 3; n > 0; --n) document[name + std::to_string(n)] = value_of(random, 3);
    };
    members("before");
    nlohmann::json events = nlohmann::json::array();
    for (auto n = random() % 12; n > 0; --n) {
      nlohmann::json event = nlohmann::json::object();
      for (auto k = random() % 5; k > 0; --k) event["k" + std::to_string(k)] = value_of(random, 70);
      events.push_back(event);
    }
    document["traceEvents"] = events;
    members("later");
    const bool bare = round % 4 == 0;
    const int indent = static_cast<int>(round % 3) - 1;
    const std::string text = bare ? events.dump(indent) : document.dump(indent);
    const Framed framed = frame(text, {1 + random() % 300, 1 + random() % 90});
    ASSERT_EQ(framed.damages.size(), 0U) << text << framed;
    ASSERT_TRUE(framed.complete);
    ASSERT_EQ(framed.events.size(), events.size()) << text;
    for (std::size_t i = 0; i < events.size(); ++i)
      ASSERT_EQ(nlohmann::json::parse(framed.events[i].second), events[i]) << text;
    ASSERT_EQ(framed.members.size(), bare ? 0 : document.size() - 1);
    for (const auto& [at, member] : framed.members) {
      const auto parsed = nlohmann::json::parse("{" + member + "}");
      const std::string key = parsed.begin().key();
      ASSERT_EQ(nlohmann::json(document[key]), parsed[key]) << member;
    }
  }
}

// Bytes are changed, left out or doubled at random: the result does not depend on how the text is cut.
TEST(Framer, DamagedTextsGiveTheSameHoweverCut) {
  std::mt19937 random(24);
  static constexpr std::string_view likely = "{}[]\"\\,:\n a";
  for (int round = 0; round < 1500; ++round) {
    std::string text = trace_of({a, b, c, a, b, c}, round % 2 == 0 ? ",\n" : ",");
    for (auto n = 1 + random() % 4; n > 0; --n) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = likely[random() % likely.size()];
          break;
        case 1:
          text.erase(at, 1 + random() % 3);
          break;
        default:
          text.insert(at, 1, likely[random() % likely.size()]);
          break;
      }
    }
    const Framed whole = frame(text);
    ASSERT_EQ(frame(text, {1}), whole) << text;
    ASSERT_EQ(frame(text, {1 + random() % 70, 1 + random() % 200}), whole) << text;
    ASSERT_EQ(frame(text, {64 + random() % 200}, false), whole) << text;
  }
}

}  // namespace
}  // namespace ddpprof::import
