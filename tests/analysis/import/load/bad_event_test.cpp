// Imports of a sound trace in which one event is damaged.
#include "tests/analysis/import/load/bad_input.hpp"

namespace ddpprof::import {
namespace {

// the end of the third kernel of the second step, and of its launch
const std::string kernel = R"("correlation": 102}})";

// A case in which the one event that contains both texts is changed.
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
  kernel_case("start_negative", ts, "\"ts\": -5", "an impossible time");
  kernel_case("duration_negative", dur, "\"dur\": -100,", "a negative duration");
  kernel_case("duration_beyond_int64", dur, "\"dur\": 9223372036854775,", "an impossible time");
  kernel_case("duration_of_years", dur, "\"dur\": 99000000000000,", "an impossible time");
  kernel_case("start_beyond_all", ts, "\"ts\": 6000000000000000", "an impossible time");
  kernel_case("stream_is_an_address", "\"stream\": 7,", "\"stream\": 140737488355328,", "", 12);
  kernel_case("shared_memory_negative", "\"stream\": 7,", "\"stream\": 7, \"shared memory\": -5,", "an invalid size",
              12);
  kernel_case("registers_beyond_all", "\"stream\": 7,", "\"stream\": 7, \"registers per thread\": 9223372036854775807,",
              "an invalid size", 12);
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
  kernel_case("missing_brace", kernel, kernel.substr(0, kernel.size() - 1), "brackets that do not match");
  kernel_case("missing_bracket", "[2, 1, 1]", "[2, 1, 1", "brackets that do not match");
  kernel_case("brace_too_many", kernel, kernel + "}", "", 12);
  cases.back().told["bad_event"] = 1;
  cases.back().says = {"an unmatched closing bracket"};
  kernel_case("bracket_too_many", kernel, kernel + "]", "", 12);
  cases.back().told["bad_event"] = 1;
  cases.back().says = {"an event after the end of the events"};
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
  kernel_case("huge_correlation", kernel, "\"correlation\": 99999999999999999999}}", "an invalid number in `args`");
  kernel_case("fractional_stream", "\"stream\": 7", "\"stream\": 7.5", "an invalid number in `args`");
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

class BadEvent : public testing::TestWithParam<Case> {};

TEST_P(BadEvent, IsToldAndTheRestIsImported) { expect_told_and_the_rest_imported(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Table, BadEvent, testing::ValuesIn(spoiled_events()), name_of);

}  // namespace
}  // namespace ddpprof::import
