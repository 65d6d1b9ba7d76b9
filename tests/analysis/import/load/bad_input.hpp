// Cases of bad input: the file's content, the expected diagnostics (code, count, byte of the first), and the totals of
// the sound rest, which must be imported. The totals are those of sound_trace().
#pragma once

#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/analysis/import/kineto/trace_text.hpp"
#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {

struct Case {
  std::string name, content;
  std::string error;                           // part of the error; empty: imported
  std::map<std::string, std::int64_t> told{};  // besides the diagnostics of a sound trace of one of two ranks
  std::vector<std::string> says{};             // parts of the messages
  std::int64_t kernels = 12;                   // of 100 us each, one after the other
  std::int64_t collectives = 3;                // of 100 us each
  std::int64_t steps = 3;
  std::int64_t guessed = 0;  // kernels whose duration is replaced by the usual one, to within a quarter
};

inline void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }

inline const std::string sound = sound_trace(0, 2).text();

inline std::string at_byte(std::size_t offset) { return "the first at byte " + std::to_string(offset) + ")"; }

inline Case with_text(const std::string& name, std::string content) { return {name, std::move(content), ""}; }

inline void expect_told_and_the_rest_imported(const Case& tested) {
  const Folder folder;
  // The diagnostics of a sound trace occur in every case.
  static const std::map<std::string, std::int64_t> usual = [&] {
    return import_files(folder, {folder.write("sound.json", sound)}).counts();
  }();
  const Imported imported = import_files(folder, {folder.write("trace.json", tested.content)});
  if (!tested.error.empty()) {
    EXPECT_THAT(imported.error, testing::HasSubstr("trace.json"));
    EXPECT_THAT(imported.error, testing::HasSubstr(tested.error));
    EXPECT_THAT(imported.error, testing::HasSubstr("expected"));
    for (const auto& [table, rows] : imported.rows) EXPECT_EQ(rows, 0) << table;
    return;
  }
  ASSERT_EQ(imported.error, "");
  std::map<std::string, std::int64_t> expected = usual, counts = imported.counts();
  for (const auto& [code, count] : tested.told) expected[code] += count;
  std::erase_if(expected, [](const auto& entry) { return entry.second == 0; });
  // These depend on the run, not on the input.
  for (const char* code : {"events_not_read", "device_idle"}) {
    expected.erase(code);
    counts.erase(code);
  }
  std::string messages;
  for (const auto& [code, told] : imported.told) messages += code + ": " + told.message + "\n";
  EXPECT_EQ(counts, expected) << messages;
  for (const std::string& part : tested.says) EXPECT_THAT(messages, testing::HasSubstr(part));
  EXPECT_EQ(imported.result.steps, tested.steps);
  EXPECT_EQ(imported.result.ranks, 1);
  const DeviceTotals totals = imported.all();
  EXPECT_LE(std::abs(totals.compute_ns - tested.kernels * 100'000), tested.guessed * 25'000);
  EXPECT_EQ(totals.communication_ns, tested.collectives * 100'000);
  EXPECT_EQ(totals.kernels, tested.kernels);
  EXPECT_EQ(totals.collective_kernels, tested.collectives);
  EXPECT_EQ(imported.rows.at("step"), tested.steps);
}

inline std::string name_of(const testing::TestParamInfo<Case>& tested) { return tested.param.name; }

}  // namespace ddpprof::import
