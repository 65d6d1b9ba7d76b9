// Files that are not traces, or were cut off or damaged as a whole.
#include "tests/analysis/import/bytes/packed.hpp"
#include "tests/analysis/import/load/bad_input.hpp"

namespace ddpprof::import {
namespace {

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
  refused("sqlite", "SQLite format 3" + std::string(500, '\0'), "SQLite cannot read it");
  refused("no_array", "{}", "no array of events");
  refused("another_json", R"({"learning_rate": 0.1, "layers": [1, 2, 3]})", "no array of events");
  refused("events_are_a_number", R"({"traceEvents": 5})", "no array of events");
  refused("events_are_empty", R"({"schemaVersion": 1, "traceEvents": []})", "no event of an operation or a device");
  refused("empty_array", "[]", "no event of an operation or a device");
  refused("only_metadata", R"({"traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "x"}}]})",
          "no event of an operation or a device");
  refused("begins_and_ends",
          R"({"traceEvents": [{"ph": "B", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1},)"
          R"( {"ph": "E", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 2}]})",
          "its operations are pairs of a begin and an end (1 events of ph B), which are not read");
  refused("only_damage", R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "a", "ts": 1}, {"ph": "X",)",
          "it has no valid event: 2 left out, the first at byte 17: an event without `dur`");
  refused("cut_in_the_first_event", sound.substr(0, sound.find("ProfilerStep") + 5), "no valid event: 1 left out");
  refused("gzip_of_nothing", gzipped(""), "the file is empty");
  refused("gzip_header_only", gzipped(sound).substr(0, 10), "gzip");
  refused("zstd_header_only", zstd_packed(sound).substr(0, 6), "zstd");
  refused("gzip_of_words", gzipped("hello"), "neither an object nor an array");
  return cases;
}

std::vector<Case> cut_files() {
  std::vector<Case> cases;
  TraceText trace = sound_trace(0, 2);
  // Cut after the third kernel of the last step, then in the launch of the fourth.
  const std::string last_kernel = trace.event_with("\"gemm\"", "\"correlation\": 202}}");
  const std::size_t behind = sound.find(last_kernel) + last_kernel.size();
  const auto cut = [&](const std::string& name, const std::string& content, const std::string& why, std::size_t at) {
    Case result{name, content, ""};
    result.told = {{"bad_event", 1}, {"truncated", 1}};
    result.says = {why, at_byte(at), "the file ends after " + std::to_string(content.size()) + " bytes"};
    result.kernels = 11;
    result.collectives = 2;
    cases.push_back(result);
  };
  cut("cut_between_events", sound.substr(0, behind + 2), "the file ends inside traceEvents", behind + 2);
  cut("cut_behind_an_event", sound.substr(0, behind), "the file ends inside traceEvents", behind);
  cut("cut_in_an_event", sound.substr(0, behind + 30), "the file ends inside an event", behind + 4);
  const std::size_t end = sound.rfind('}');
  Case before_end{"cut_before_the_last_brace", sound.substr(0, end), ""};
  before_end.told = {{"bad_event", 1}, {"truncated", 1}};
  before_end.says = {"the file ends before its last }", at_byte(end)};
  cases.push_back(before_end);

  // Compressed as separate pieces, so that the place of the cut in the content is known.
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

class BadFile : public testing::TestWithParam<Case> {};

TEST_P(BadFile, IsToldAndTheRestIsImported) { expect_told_and_the_rest_imported(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Whole, BadFile, testing::ValuesIn(whole_files()), name_of);
INSTANTIATE_TEST_SUITE_P(Cut, BadFile, testing::ValuesIn(cut_files()), name_of);

}  // namespace
}  // namespace ddpprof::import
