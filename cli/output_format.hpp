// The --format option of subcommands that print reports.
#pragma once

#include <string>

#include "analysis/report/render/render.hpp"
#include "cli/subcommand.hpp"

namespace ddpprof::cli {

inline constexpr const char* format_help =
    "table, csv, json, markdown or html (docs/reference/report/formats.md describes them)";

// Throws Failure (usage) on any other word.
report::Format checked_format(const std::string& word);

// Throws Failure (usage) with "did you mean" unless `word` is one of `known`.
void check_word(const std::string& option, const std::string& word, const std::vector<std::string>& known);

}  // namespace ddpprof::cli
