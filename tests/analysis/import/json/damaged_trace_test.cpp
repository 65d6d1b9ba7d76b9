// Traces with bytes changed, lost, doubled and moved at random: reading ends, counts are complete, and the result does
// not depend on how the bytes arrive. DDPPROF_FUZZ_ROUNDS sets the number of random traces; seeds are fixed.
#include <gmock/gmock.h>

#include <cstdlib>
#include <random>

#include "tests/analysis/import/json/framed.hpp"
#include "tests/tiers.hpp"

namespace ddpprof::import {
namespace {

int rounds() {
  const char* asked = std::getenv("DDPPROF_FUZZ_ROUNDS");
  return asked ? std::atoi(asked) : test::long_tests() ? 4000 : 1500;
}

// Like PyTorch's profilers: metadata, operations, launches, kernels, arrows.
std::string small_trace(int kernels, const std::string& line_break) {
  std::string text = "{" + line_break + R"("schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "A \"100\""}],)" +
                     line_break + R"("distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2},)" +
                     line_break + R"("traceEvents": [)";
  text += line_break + R"({"name": "process_name", "ph": "M", "ts": 1, "pid": 9, "tid": 0, "args": {"name": "py\\"}})";
  for (int i = 0; i < kernels; ++i) {
    const std::string at = std::to_string(1000 + i), id = std::to_string(i);
    text += "," + line_break + R"({"ph": "X", "cat": "cpu_op", "name": "aten::\"add\" {", "pid": 9, "tid": 9, "ts": )" +
            at + R"(, "dur": 1, "args": {"External id": )" + id + R"(, "Input Dims": [[2, 3], []]}})";
    text += "," + line_break + R"({"ph": "X", "cat": "cuda_runtime", "name": "launch", "pid": 9, "tid": 9, "ts": )" +
            at + R"(.250, "dur": 0.5, "args": {"correlation": )" + id + "}}";
    text += "," + line_break +
            R"({"ph": "X", "cat": "kernel", "name": "void k<float, 4>\\", "pid": 0, "tid": 7, "ts": )" + at + R"(.5,)" +
            line_break + R"("dur": 0.75, "args": {"grid": [1, 2, 3], "correlation": )" + id + "}}";
    text +=
        "," + line_break + R"({"ph": "f", "id": )" + id + R"(, "pid": 0, "tid": 7, "ts": )" + at + R"(.5, "bp": "e"})";
  }
  return text + line_break + R"(], "traceName": "x", "baseTimeNanoseconds": 17})" + line_break;
}

void expect_no_count_lost(const Told& told, const std::string& text) {
  ASSERT_EQ(told.tally.events, static_cast<std::int64_t>(told.events.size())) << text;
  ASSERT_EQ(told.tally.damaged, static_cast<std::int64_t>(told.damages.size())) << text;
  ASSERT_EQ(told.tally.text_bytes, text.size()) << text;
  std::uint64_t before = 0;
  for (const Told::Seen& event : told.events) {
    ASSERT_LT(event.offset, text.size());
    ASSERT_EQ(text[event.offset], '{') << event.offset << text;
    ASSERT_TRUE(&event == told.events.data() || event.offset > before) << "each once, in order:\n" << text;
    before = event.offset;
  }
  for (const auto& [offset, what] : told.damages) ASSERT_LE(offset, text.size()) << what;
}

void mutate(std::string& text, std::mt19937& random) {
  static constexpr std::string_view likely = "{{}}[]\"\"\\\\,::\n \t0-eN\x80\0";
  if (text.empty()) return;
  const std::size_t at = random() % text.size(), bytes = 1 + random() % (random() % 8 == 0 ? 300 : 4);
  switch (random() % 7) {
    case 0:
      text[at] = likely[random() % likely.size()];
      break;
    case 1:
      text[at] = static_cast<char>(random());
      break;
    case 2:
      text.erase(at, bytes);
      break;
    case 3:
      text.insert(at, 1, likely[random() % likely.size()]);
      break;
    case 4:
      text.insert(random() % text.size(), text.substr(at, bytes));
      break;
    case 5:
      text.replace(at, std::min(bytes, text.size() - at), std::string(std::min(bytes, text.size() - at), '\0'));
      break;
    default:
      if (random() % 10 == 0) text.resize(at);
      break;
  }
}

TEST(DamagedTrace, EndsLosesNoCountAndIsToldTheSameHoweverItCame) {
  std::mt19937 random(25);
  const std::string traces[] = {small_trace(6, "\n"), small_trace(6, ""), small_trace(6, "\r\n")};
  for (int round = 0; round < rounds(); ++round) {
    std::string text = traces[static_cast<std::size_t>(round % 3)];
    for (auto n = 1 + random() % 6; n > 0; --n) mutate(text, random);
    Told told = read_text(text), in_pieces = read_text(text, 1 + random() % 100);
    expect_no_count_lost(told, text);
    for (Told* each : {&told, &in_pieces}) std::sort(each->damages.begin(), each->damages.end());
    ASSERT_EQ(in_pieces.events, told.events) << text;
    ASSERT_EQ(in_pieces.damages, told.damages) << text;
    ASSERT_EQ(in_pieces.members, told.members) << text;
    ASSERT_EQ(in_pieces.tally.complete, told.tally.complete) << text;
  }
}

// One changed byte among the events costs its event and at most the adjacent ones.
TEST(DamagedTrace, OneByteCostsNoMoreThanItsNeighbourhood) {
  static constexpr std::string_view bytes = "\"{}[]\\,: x\0\n";
  for (const std::string line_break : {"\n", ""}) {
    const std::string trace = small_trace(4, line_break);
    const std::size_t events = read_text(trace).events.size();
    const std::size_t begin = trace.find("{\"name\": \"process_name\""), end = trace.rfind("]");
    std::size_t most_lost = 0;
    const std::size_t stride = test::long_tests() ? 1 : 23;
    for (std::size_t at = begin; at < end; at += stride)
      for (const char byte : bytes) {
        if (trace[at] == byte) continue;
        std::string text = trace;
        text[at] = byte;
        const Told told = read_text(text);
        expect_no_count_lost(told, text);
        const std::size_t lost = events - std::min(events, told.events.size());
        most_lost = std::max(most_lost, lost);
        ASSERT_LE(lost, line_break.empty() ? 8U : 3U) << "byte " << at << ":\n" << text;
        ASSERT_TRUE(lost == 0 || !told.damages.empty()) << text;
      }
    EXPECT_GE(most_lost, 1U);
  }
}

// If the position is lost again and again, the time stays proportional to the text.
TEST(DamagedTrace, TextThatSeemsToBeginEventsEverywhereEnds) {
  const std::size_t size = test::long_tests() ? 3'000'000 : 1'000'000;  // quadratic time would take hours for both
  for (const std::string unit : {"{\"},", "{\"a\":[},", "},{[\"", "},{\"a\":1", "{\"", "[", "},{"}) {
    std::string text = "{\"traceEvents\": [";
    while (text.size() < size) text += unit;
    const Told told = read_text(text);
    EXPECT_EQ(told.tally.text_bytes, text.size());
    EXPECT_GE(told.tally.damaged, 1);
  }
}

}  // namespace
}  // namespace ddpprof::import
