// Traces that are unusual as a whole: durations, steps, ranks and layouts.
#include <algorithm>

#include "tests/analysis/import/load/bad_input.hpp"

namespace ddpprof::import {
namespace {

// the end of the third kernel of the second step, and of its launch
const std::string kernel = R"("correlation": 102}})";

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
  joined.says = {"text after the end of the trace", at_byte(sound.size())};
  cases.push_back(joined);
  Case zeros = with_text("zeros_behind", sound + std::string(4096, '\0'));
  zeros.told["bad_event"] = 1;
  cases.push_back(zeros);

  // Seven of some hundreds, each longer than all others together.
  for (const bool at_the_end : {false, true}) {
    trace = sound_trace(0, 2, 100);
    for (int i = 0; i < 7; ++i) {
      const int step = at_the_end && i == 6 ? 99 : 10 * i + 5;
      std::string& event = trace.event_with("\"gemm\"", "\"correlation\": " + std::to_string(100 * step + 3) + "}}");
      event = replaced(event, "\"dur\": 100,", i % 2 == 0 ? "\"dur\": 9000000000000," : "\"dur\": 700000,");
    }
    if (at_the_end) {
      // The last kernel on the stream has no successor.
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
    event = replaced(event, "\"dur\": 100,", "\"dur\": 150,");  // 50 us into the next one, which continues
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

  // The rank is invalid; the file's name contains none either, so the file counts as rank 0. The number of ranks comes
  // from the groups of the collectives.
  const auto who = [&](const std::string& name, const std::string& info, std::int64_t told) {
    TraceText odd = sound_trace(0, 2);
    odd.before.back() = "\"distributedInfo\": " + info;
    Case& result = add(name, odd);
    if (told > 0) result.told["bad_event"] = told;
    result.told["identity_by_collectives"] = 1;
    result.told["rank_unknown"] = 1;
    return &result;
  };
  who("distributed_info_is_null", "null", 0);
  who("distributed_info_is_empty", "{}", 0);
  who("distributed_info_of_texts", R"({"rank": "one", "world_size": "two"})", 2);
  who("distributed_info_negative", R"({"rank": -1, "world_size": -2})", 2);
  who("distributed_info_huge", R"({"rank": 18446744073709551615, "world_size": 99999999999999999999})", 2);
  who("distributed_info_absurd", R"({"rank": 0, "world_size": 4000000000000})", 1)->told.erase("rank_unknown");
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
  array.told = {{"identity_by_collectives", 1}, {"rank_unknown", 1}};
  cases.push_back(array);
  Case endless = with_text("bare_array_without_its_end", bare.substr(0, bare.size() - 3));
  endless.told = {{"identity_by_collectives", 1}, {"rank_unknown", 1}, {"truncated", 1}};
  cases.push_back(endless);
  return cases;
}

class OddTrace : public testing::TestWithParam<Case> {};

TEST_P(OddTrace, IsToldAndTheRestIsImported) { expect_told_and_the_rest_imported(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Table, OddTrace, testing::ValuesIn(odd_wholes()), name_of);

}  // namespace
}  // namespace ddpprof::import
