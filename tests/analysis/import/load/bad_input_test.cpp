// Bad input, a row each: what is written, what is said of it (code, count, byte of the first), and that the sound rest
// is imported with the right totals. The totals are those that sound_trace() is made with.
#include <gmock/gmock.h>

#include "tests/analysis/import/bytes/packed.hpp"
#include "tests/analysis/import/kineto/trace_text.hpp"
#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {
namespace {

using testing::HasSubstr;

struct Case {
  std::string name, content;
  std::string error;                           // holds this; empty: imported
  std::map<std::string, std::int64_t> told{};  // beside what a sound trace of one of two ranks is told
  std::vector<std::string> says{};             // parts of the messages told
  std::int64_t kernels = 12;                   // of 100 us each, one after the other
  std::int64_t collectives = 3;                // of 100 us each
  std::int64_t steps = 3;
  std::int64_t guessed = 0;  // of the kernels, whose duration is their like's, to within a quarter
};

void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }

const std::string sound = sound_trace(0, 2).text();
const std::string kernel = R"("correlation": 102}})";  // ends the third kernel of the second step, and its launch

std::string at_byte(std::size_t offset) { return "the first at byte " + std::to_string(offset) + ")"; }

// One event, which holds both texts, made another one.
template <class Change>
Case spoiled(const std::string& name, std::string_view a, std::string_view b, Change change, const std::string& why,
             std::int64_t kernels = 11) {
  TraceText trace = sound_trace(0, 2);
  std::string& event = trace.event_with(a, b);
  const std::size_t offset = trace.text().find(event);
  event = change(event);
  Case result{name, trace.text(), ""};
  if (!why.empty()) {
    result.told["bad_event"] = 1;
    result.says = {why, at_byte(offset)};
  }
  result.kernels = kernels;
  return result;
}

Case spoiled_kernel(const std::string& name, const std::string& from, const std::string& to, const std::string& why,
                    std::int64_t kernels = 11) {
  return spoiled(
      name, "\"gemm\"", kernel, [&](const std::string& event) { return replaced(event, from, to); }, why, kernels);
}

Case with_text(const std::string& name, std::string content) { return {name, std::move(content), ""}; }

std::string flipped(std::string bytes, std::size_t at) {
  bytes[at] = static_cast<char>(bytes[at] ^ 0x55);
  return bytes;
}

std::vector<Case> whole_files() {
  std::vector<Case> cases;
  const auto refused = [&](const std::string& name, const std::string& content, const std::string& why) {
    cases.push_back({name, content, why});
  };
  cases.push_back(with_text("sound", sound));
  cases.push_back(with_text("sound_gzip", gzipped(sound)));
  cases.push_back(with_text("sound_zstd", zstd_packed(sound)));
  cases.push_back(with_text("two_gzip_members", gzipped(sound.substr(0, 700)) + gzipped(sound.substr(700))));
  refused("empty", "", "the file is empty");
  refused("white_space", " \r\n\t \n", "the file is empty");
  refused("html", "<!DOCTYPE html><html><body>Sign in</body></html>", "neither an object nor an array");
  refused("words", "Traceback (most recent call last):\n", "neither an object nor an array");
  refused("pickle", std::string("\x80\x04\x95\x1a\0\0\0\0\0\0\0}\x94(\x8c", 16), "neither an object nor an array");
  refused("binary", std::string(5000, '\0'), "neither an object nor an array");
  refused("utf16", std::string("\xFF\xFE{\0\"\0t\0", 8), "neither an object nor an array");
  refused("sqlite", "SQLite format 3" + std::string(500, '\0'), "neither an object nor an array");
  refused("no_array", "{}", "no array of events");
  refused("another_json", R"({"learning_rate": 0.1, "layers": [1, 2, 3]})", "no array of events");
  refused("events_are_a_number", R"({"traceEvents": 5})", "no array of events");
  refused("events_are_empty", R"({"schemaVersion": 1, "traceEvents": []})", "no event of an operation or a device");
  refused("empty_array", "[]", "no event of an operation or a device");
  refused("only_metadata", R"({"traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "x"}}]})",
          "no event of an operation or a device");
  refused("only_damage", R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "a", "ts": 1}, {"ph": "X",)",
          "it holds no sound event: 2 left out, the first at byte 17: an event without `dur`");
  refused("cut_in_the_first_event", sound.substr(0, sound.find("ProfilerStep") + 5), "no sound event: 1 left out");
  refused("gzip_of_nothing", gzipped(""), "the file is empty");
  refused("gzip_header_only", gzipped(sound).substr(0, 10), "gzip");
  refused("zstd_header_only", zstd_packed(sound).substr(0, 6), "zstd");
  refused("gzip_of_words", gzipped("hello"), "neither an object nor an array");
  return cases;
}

std::vector<Case> cut_files() {
  std::vector<Case> cases;
  TraceText trace = sound_trace(0, 2);
  // Behind the third kernel of the last step; then in the fourth one's launch.
  const std::string last_kernel = trace.event_with("\"gemm\"", "\"correlation\": 202}}");
  const std::size_t behind = sound.find(last_kernel) + last_kernel.size();
  const auto cut = [&](const std::string& name, const std::string& content, const std::string& why, std::size_t at) {
    Case result{name, content, ""};
    result.told = {{"bad_event", 1}, {"truncated", 1}};
    result.says = {why, at_byte(at), "the text ends after " + std::to_string(content.size()) + " bytes"};
    result.kernels = 11;
    result.collectives = 2;
    cases.push_back(result);
  };
  cut("cut_between_events", sound.substr(0, behind + 2), "the file ends inside of traceEvents", behind + 2);
  cut("cut_behind_an_event", sound.substr(0, behind), "the file ends inside of traceEvents", behind);
  cut("cut_in_an_event", sound.substr(0, behind + 30), "the file ends inside of an event", behind + 4);
  const std::size_t end = sound.rfind('}');
  Case before_end{"cut_before_the_last_brace", sound.substr(0, end), ""};
  before_end.told = {{"bad_event", 1}, {"truncated", 1}};
  before_end.says = {"the file ends before its last }", at_byte(end)};
  cases.push_back(before_end);

  // Compressed without redundancy, so that the cut place is known: stored in pieces of its own.
  const std::string head = sound.substr(0, behind + 30), tail = sound.substr(behind + 30);
  const auto damaged = [&](const std::string& name, const std::string& content, bool all,
                           std::map<std::string, std::int64_t> told, const std::string& says) {
    Case result{name, content, ""};
    result.told = std::move(told);
    result.says = {says};
    if (!all) {
      result.kernels = 11;
      result.collectives = 2;
    }
    cases.push_back(result);
  };
  const std::map<std::string, std::int64_t> broken = {{"bad_event", 1}, {"truncated", 1}, {"file_damaged", 1}};
  const std::string second = gzipped(tail), packed = gzipped(sound);
  damaged("gzip_cut_at_a_member", gzipped(head) + second.substr(0, 10), false, broken, "gzip");
  damaged("gzip_cut_in_its_tail", packed.substr(0, packed.size() - 4), true, {{"file_damaged", 1}}, "gzip");
  damaged("gzip_wrong_check", flipped(packed, packed.size() - 8), true, {{"file_damaged", 1}}, "gzip");
  damaged("gzip_wrong_length", flipped(packed, packed.size() - 1), true, {{"file_damaged", 1}}, "gzip");
  damaged("gzip_garbage_behind", packed + "garbage behind it", true, {{"file_remark", 1}}, "gzip");
  damaged("gzip_zeros_behind", packed + std::string(512, '\0'), true, {{"file_remark", 1}}, "gzip");
  damaged("gzip_damaged_second_member", gzipped(head) + flipped(second, 3), false,
          {{"bad_event", 1}, {"truncated", 1}, {"file_damaged", 1}}, "gzip");
  const std::string frame = zstd_packed(tail), whole_frame = zstd_packed(sound);
  damaged("zstd_cut_at_a_frame", zstd_packed(head) + frame.substr(0, 7), false, broken, "zstd");
  damaged("zstd_cut_in_its_check", whole_frame.substr(0, whole_frame.size() - 2), true, {{"file_damaged", 1}}, "zstd");
  damaged("zstd_wrong_check", flipped(whole_frame, whole_frame.size() - 1), true, {{"file_damaged", 1}}, "zstd");
  damaged("zstd_garbage_behind", whole_frame + "garbage", true, {{"file_remark", 1}}, "zstd");
  return cases;
}

std::vector<Case> spoiled_events() {
  std::vector<Case> cases;
  const std::string ts = "\"ts\": 1001300", dur = "\"dur\": 100,";
  const std::string bad_time = "`ts` is not a number", bad_duration = "`dur` is not a number";
  const auto kernel_case = [&](const std::string& name, const std::string& from, const std::string& to,
                               const std::string& why, std::int64_t kernels = 11) {
    cases.push_back(spoiled_kernel(name, from, to, why, kernels));
  };
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{{"nan", "NaN"},
                                                                                    {"infinity", "Infinity"},
                                                                                    {"null", "null"},
                                                                                    {"text", "\"soon\""},
                                                                                    {"list", "[1]"},
                                                                                    {"huge", "1e300"}}) {
    kernel_case("start_" + name, ts, "\"ts\": " + value, bad_time);
    kernel_case("duration_" + name, dur, "\"dur\": " + value + ",", bad_duration);
  }
  kernel_case("start_in_quotes", ts, "\"ts\": \"1001300\"", "", 12);
  kernel_case("start_with_exponent", ts, "\"ts\": 1.0013e6", "", 12);
  kernel_case("start_negative", ts, "\"ts\": -5", "a time that cannot be");
  kernel_case("duration_negative", dur, "\"dur\": -100,", "a negative duration");
  kernel_case("duration_beyond_int64", dur, "\"dur\": 9223372036854775,", "a time that cannot be");
  kernel_case("no_start", ts + ", ", "", "an event without `ts`");
  kernel_case("no_duration", dur + " ", "", "an event without `dur`");
  kernel_case("no_phase", "\"ph\": \"X\", ", "", "an event without `ph`");
  kernel_case("no_name", "\"name\": \"gemm\", ", "", "an event without a name");
  kernel_case("no_pid", "\"pid\": 0, ", "", "", 12);
  kernel_case("no_tid", "\"tid\": 7, ", "", "", 12);
  kernel_case("name_is_a_number", "\"gemm\"", "5", "", 12);
  kernel_case("missing_quote", "\"gemm\"", "\"gemm", "");
  cases.back().told["bad_event"] = 1;
  kernel_case("missing_colon", "\"name\":", "\"name\"", "not JSON");
  kernel_case("missing_brace", kernel, kernel.substr(0, kernel.size() - 1), "brackets that do not fit each other");
  kernel_case("missing_bracket", "[2, 1, 1]", "[2, 1, 1", "brackets that do not fit each other");
  kernel_case("brace_too_many", kernel, kernel + "}", "", 12);
  cases.back().told["bad_event"] = 1;
  cases.back().says = {"a closing bracket too many"};
  kernel_case("bracket_too_many", kernel, kernel + "]", "", 12);
  cases.back().told["bad_event"] = 1;
  cases.back().says = {"an event behind the end of the events"};
  kernel_case("line_break_in_a_name", "\"gemm\"", "\"ge\nmm\"", "a string without its closing quote");
  kernel_case("zeros_in_the_middle", "\"gemm\", \"pid\": 0,", std::string(17, '\0'), "not JSON");
  kernel_case("unknown_escape", "\"gemm\"", "\"ge\\qmm\"", "not JSON");
  kernel_case("not_utf8", "\"gemm\"", "\"ge\xE9\"", "", 12);
  kernel_case("escapes", "\"gemm\"", "\"\\\"g\\u00e9mm\\\\ {[\"", "", 12);
  kernel_case("name_of_10_mib", "\"gemm\"", "\"" + std::string(std::size_t{10} << 20, 'n') + "\"",
              "an event without an end");
  kernel_case("name_of_1_mib", "\"gemm\"", "\"" + std::string(std::size_t{1} << 20, 'n') + "\"", "", 12);
  kernel_case("deep_arguments", "\"grid\"", "\"deep\": " + std::string(900, '[') + std::string(900, ']') + ", \"grid\"",
              "", 12);
  kernel_case("too_deep_arguments", "\"grid\"",
              "\"deep\": " + std::string(100'000, '[') + std::string(100'000, ']') + ", \"grid\"", "", 12);
  kernel_case("huge_correlation", kernel, "\"correlation\": 99999999999999999999}}", "a number in `args`");
  kernel_case("fractional_stream", "\"stream\": 7", "\"stream\": 7.5", "a number in `args`");
  kernel_case("unread_nan", "\"grid\"", "\"occupancy\": NaN, \"inf\": -Infinity, \"grid\"", "", 12);
  kernel_case("keys_twice", ts, "\"ts\": 7, " + ts, "", 12);
  kernel_case("words_behind_it", kernel, kernel + " oops", "", 12);
  cases.back().told["bad_event"] = 1;
  cases.back().says = {"text between two events"};
  Case no_category = spoiled_kernel("no_category", "\"cat\": \"kernel\", ", "", "");
  no_category.says = {"without a category"};
  cases.push_back(no_category);
  Case no_arguments = spoiled(
      "no_arguments", "\"gemm\"", kernel,
      [](const std::string& event) { return event.substr(0, event.find(", \"args\"")) + "}"; }, "", 12);
  no_arguments.told["launch_unknown"] = 1;
  cases.push_back(no_arguments);
  return cases;
}

std::vector<Case> odd_wholes() {
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, const TraceText& trace) -> Case& {
    cases.push_back(with_text(name, trace.text()));
    return cases.back();
  };
  TraceText trace = sound_trace(0, 2);
  trace.line_break = "\r\n";
  add("carriage_returns", trace);
  trace.line_break = "";
  add("one_line", trace);
  cases.push_back(with_text("byte_order_mark", "\xEF\xBB\xBF" + sound));
  Case joined = with_text("two_documents", sound + sound);
  joined.told["bad_event"] = 1;
  joined.says = {"text behind the trace's end", at_byte(sound.size())};
  cases.push_back(joined);
  Case zeros = with_text("zeros_behind", sound + std::string(4096, '\0'));
  zeros.told["bad_event"] = 1;
  cases.push_back(zeros);

  // Seven of some hundreds, each longer than all the rest together.
  for (const bool at_the_end : {false, true}) {
    trace = sound_trace(0, 2, 100);
    for (int i = 0; i < 7; ++i) {
      const int step = at_the_end && i == 6 ? 99 : 10 * i + 5;
      std::string& event = trace.event_with("\"gemm\"", "\"correlation\": " + std::to_string(100 * step + 3) + "}}");
      event = replaced(event, "\"dur\": 100,", i % 2 == 0 ? "\"dur\": 9000000000000," : "\"dur\": 700000,");
    }
    if (at_the_end) {
      // Nothing follows the last on its stream.
      const std::string copy = trace.event_with("gpu_memcpy", "\"correlation\": 9910}}");
      std::erase(trace.events, copy);
    }
    Case& absurd = add(at_the_end ? "absurd_durations_at_the_end" : "absurd_durations", trace);
    absurd.told["absurd_duration"] = 7;
    absurd.says = {"gemm", "9e+09 ms"};
    absurd.kernels = 400;
    absurd.collectives = 100;
    absurd.steps = 100;
    absurd.guessed = 7;
  }

  trace = sound_trace(0, 2);
  for (const char* correlation : {"101}}", "102}}"}) {
    std::string& event = trace.event_with("\"gemm\"", std::string("\"correlation\": ") + correlation);
    event = replaced(event, "\"dur\": 100,", "\"dur\": 150,");  // 50 us into the next, which goes on
  }
  add("overlapping_slices", trace).told["overlapping_slices"] = 2;

  trace = sound_trace(0, 2);
  for (std::string& event : trace.events)
    if (event.find("\"gemm\"") != std::string::npos)
      event = replaced(event, "\"correlation\": ", "\"correlation\": 5, \"was\": ");
  add("one_correlation_for_all", trace).told["launch_unknown"] = 12;

  trace = sound_trace(0, 2);
  trace.events.push_back(trace.event_with("cudaLaunchKernel\"", kernel));
  add("a_launch_twice", trace);

  trace = sound_trace(0, 2);
  std::reverse(trace.events.begin(), trace.events.end());
  add("events_backwards", trace);

  trace = sound_trace(0, 2);
  trace.events.push_back(trace.event_with("ProfilerStep#1"));
  add("a_step_twice", trace).told["steps_overlap"] = 1;

  trace = sound_trace(0, 2);
  trace.events.push_back(complete_event("user_annotation", "ProfilerStep#9", "1001100", "200", "4711", "4711"));
  add("a_step_within_a_step", trace).told["steps_overlap"] = 1;

  trace = sound_trace(0, 2);
  std::string& longer = trace.event_with("ProfilerStep#0");
  longer = replaced(longer, "\"dur\": 1000", "\"dur\": 1200");
  Case& overlapping = add("overlapping_steps", trace);
  overlapping.told["steps_overlap"] = 1;
  overlapping.steps = 2;

  trace = sound_trace(0, 2);
  std::erase_if(trace.events, [](const std::string& event) { return event.find("ProfilerStep") != std::string::npos; });
  Case& stepless = add("no_step", trace);
  stepless.told = {{"no_steps", 1}, {"parameters_by_bucket", -1}};
  stepless.steps = 0;

  // What is wrong with who it is; the file's name is no help, and it counts as rank 0.
  const auto who = [&](const std::string& name, const std::string& info, std::int64_t told) {
    TraceText odd = sound_trace(0, 2);
    odd.before.back() = "\"distributedInfo\": " + info;
    Case& result = add(name, odd);
    if (told > 0) result.told["bad_event"] = told;
    result.told["rank_missing"] = -1;  // alone of one, as far as the file says
    return &result;
  };
  who("distributed_info_is_null", "null", 0);
  who("distributed_info_is_empty", "{}", 0);
  who("distributed_info_of_texts", R"({"rank": "one", "world_size": "two"})", 2);
  who("distributed_info_negative", R"({"rank": -1, "world_size": -2})", 2);
  who("distributed_info_huge", R"({"rank": 18446744073709551615, "world_size": 99999999999999999999})", 2);
  who("distributed_info_absurd", R"({"rank": 0, "world_size": 4000000000000})", 1);
  who("distributed_info_is_no_json", "{rank: 0}", 1);
  who("distributed_info_deep", std::string(50'000, '[') + std::string(50'000, ']'), 0);

  trace = sound_trace(0, 2);
  trace.before.push_back("\"long\": \"" + std::string(3'000'000, 'm') + "\"");
  Case& long_member = add("a_long_member", trace);
  long_member.told["member_too_long"] = 1;

  trace = sound_trace(0, 2);
  trace.after.push_back("\"traceEvents\": [" +
                        complete_event("kernel", "late", "1002700", "100", "0", "7", "\"stream\": 7, \"device\": 0") +
                        "]");
  Case& second = add("a_second_array_of_events", trace);
  second.told = {{"bad_event", 1}, {"launch_unknown", 1}};
  second.says = {"a second traceEvents"};
  second.kernels = 13;

  const std::string bare = sound.substr(sound.find("[\n"), sound.rfind("  ]") + 3 - sound.find("[\n"));
  Case array = with_text("bare_array", bare);
  array.told["rank_missing"] = -1;
  cases.push_back(array);
  Case endless = with_text("bare_array_without_its_end", bare.substr(0, bare.size() - 3));
  endless.told = {{"rank_missing", -1}, {"truncated", 1}};
  cases.push_back(endless);
  return cases;
}

class BadInput : public testing::TestWithParam<Case> {};

TEST_P(BadInput, IsToldAndTheRestIsImported) {
  const Case& tested = GetParam();
  const Folder folder;
  // What is told of a sound trace is told of all.
  static const std::map<std::string, std::int64_t> usual = [&] {
    return import_files(folder, {folder.write("sound.json", sound)}).counts();
  }();
  const Imported imported = import_files(folder, {folder.write("trace.json", tested.content)});
  if (!tested.error.empty()) {
    EXPECT_THAT(imported.error, HasSubstr("trace.json"));
    EXPECT_THAT(imported.error, HasSubstr(tested.error));
    EXPECT_THAT(imported.error, HasSubstr("expected"));
    for (const auto& [table, rows] : imported.rows) EXPECT_EQ(rows, 0) << table;
    return;
  }
  ASSERT_EQ(imported.error, "");
  std::map<std::string, std::int64_t> expected = usual, counts = imported.counts();
  for (const auto& [code, count] : tested.told) expected[code] += count;
  std::erase_if(expected, [](const auto& entry) { return entry.second == 0; });
  // Of the run, not of the input.
  for (const char* code : {"events_not_read", "device_idle"}) {
    expected.erase(code);
    counts.erase(code);
  }
  std::string messages;
  for (const auto& [code, told] : imported.told) messages += code + ": " + told.message + "\n";
  EXPECT_EQ(counts, expected) << messages;
  for (const std::string& part : tested.says) EXPECT_THAT(messages, HasSubstr(part));
  EXPECT_EQ(imported.result.steps, tested.steps);
  EXPECT_EQ(imported.result.ranks, 1);
  const DeviceTotals totals = imported.all();
  EXPECT_LE(std::abs(totals.compute_ns - tested.kernels * 100'000), tested.guessed * 25'000);
  EXPECT_EQ(totals.communication_ns, tested.collectives * 100'000);
  EXPECT_EQ(totals.kernels, tested.kernels);
  EXPECT_EQ(totals.collective_kernels, tested.collectives);
  EXPECT_EQ(imported.rows.at("step"), tested.steps);
}

const auto name_of = [](const testing::TestParamInfo<Case>& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(WholeFiles, BadInput, testing::ValuesIn(whole_files()), name_of);
INSTANTIATE_TEST_SUITE_P(CutFiles, BadInput, testing::ValuesIn(cut_files()), name_of);
INSTANTIATE_TEST_SUITE_P(SpoiledEvents, BadInput, testing::ValuesIn(spoiled_events()), name_of);
INSTANTIATE_TEST_SUITE_P(OddWholes, BadInput, testing::ValuesIn(odd_wholes()), name_of);

}  // namespace
}  // namespace ddpprof::import
