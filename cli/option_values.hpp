// Values of options that several subcommands have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/render/render.hpp"
#include "cli/subcommand.hpp"
#include "runner/measure/progress.hpp"

namespace ddpprof::cli {

inline constexpr const char* format_help =
    "table, csv, json, markdown or html (docs/reference/report/formats.md describes them)";

// Throws Failure (usage) on any other word.
report::Format checked_format(const std::string& word);

// Throws Failure (usage) with "did you mean" unless `word` is one of `known`.
void check_word(const std::string& option, const std::string& word, const std::vector<std::string>& known);

// The form of --progress auto, json-lines or none (docs/reference/progress.md). Throws Failure (usage) on any other
// word.
measure::ProgressForm checked_progress(const std::string& word, bool terminal, bool quiet);

// The candidate nearest to `word` when it is near enough to be a slip of the fingers, else "".
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// "--workers 8,64" → {8, 64}. Throws Failure (usage) naming `option` on anything but whole numbers ≥ 1; sorts and
// removes doubles.
std::vector<long long> parse_worker_list(const std::string& text, const std::string& option);

}  // namespace ddpprof::cli
