// Parsers for values of options that several subcommands have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/render/render.hpp"
#include "cli/subcommand.hpp"
#include "runner/measure/progress.hpp"

namespace CLI {
class Option;
}

namespace ddpprof::cli {

// Words of options that several subcommands have.
extern const std::vector<std::string> formats;         // --format
extern const std::vector<std::string> devices;         // --device
extern const std::vector<std::string> progress_forms;  // --progress

inline constexpr const char* format_help =
    "table, csv, json, markdown or html (docs/reference/report/formats.md describes them)";

inline report::TextStyle style_of(const Context& context) { return {context.width, context.ascii}; }

inline constexpr const char* full_names = "--full,--verbose";
inline constexpr const char* full_help = "Print all tables of the report, with their notes; otherwise one screen";

// Throws Failure (usage) on any other word.
report::Format checked_format(const std::string& word);

// Throws Failure (usage) with "did you mean" unless `word` is one of `known`.
void check_word(const std::string& option, const std::string& word, const std::vector<std::string>& known);

// Stores the words that an option takes, for the completion in a shell. check_word rejects other words. Returns
// `option`.
CLI::Option* with_words(CLI::Option* option, const std::vector<std::string>& words);

// The words of with_words; empty for another option.
std::vector<std::string> words_of(CLI::Option& option);

// The form of --progress auto, json-lines or none (docs/reference/progress.md). Throws Failure (usage) on any other
// word.
measure::ProgressForm checked_progress(const std::string& word, bool terminal, bool quiet);

// Returns the candidate that `word` may be a misspelling of, otherwise "".
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// For CLI::Option::check: returns why a whole number is not 1 or more; empty if it is, and for other texts, which the
// parser rejects itself. It takes an empty text for a missing option, so this is rejected here.
std::string from_one(const std::string& text);

// For CLI::Option::check: returns why an empty list of numbers is rejected, for example of an unset shell variable.
std::string not_empty(const std::string& list);

// Parses "8,64" to {8, 64}, sorted, without duplicates. Throws Failure (usage) that names `option` unless all are whole
// numbers from 1 to 1000000.
std::vector<long long> parse_worker_list(const std::string& text, const std::string& option);

}  // namespace ddpprof::cli
