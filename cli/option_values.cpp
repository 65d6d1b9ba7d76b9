#include "cli/option_values.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <sstream>

#include "runner/scenario/suggest.hpp"

namespace ddpprof::cli {
namespace {

constexpr const char* words_name = "words";

}  // namespace

const std::vector<std::string> formats = {"table", "csv", "json", "markdown", "html"};
const std::vector<std::string> devices = {"cpu", "cuda"};
const std::vector<std::string> progress_forms = {"auto", "json-lines", "none"};

// An inactive validator keeps the words with the option: the parser does not run it, and the help does not show it.
CLI::Option* with_words(CLI::Option* option, const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return option->check(CLI::Validator(text).active(false), words_name);
}

std::vector<std::string> words_of(CLI::Option& option) {
  try {
    std::istringstream text(option.get_validator(words_name)->active(true).get_description());
    option.get_validator(words_name)->active(false);
    std::vector<std::string> words;
    for (std::string word; text >> word;) words.push_back(word);
    return words;
  } catch (const CLI::OptionNotFound&) {
    return {};
  }
}

void check_word(const std::string& option, const std::string& word, const std::vector<std::string>& known) {
  std::string listed;
  for (const std::string& candidate : known) {
    if (candidate == word) return;
    listed += (listed.empty() ? "" : ", ") + candidate;
  }
  const std::string guess = nearest(word, known);
  throw Failure(ExitCode::usage, option + ": unknown value '" + word + "'", "one of " + listed,
                guess.empty() ? "" : "did you mean '" + guess + "'?");
}

report::Format checked_format(const std::string& word) {
  check_word("--format", word, formats);
  return *report::parse_format(word);
}

measure::ProgressForm checked_progress(const std::string& word, bool terminal, bool quiet) {
  check_word("--progress", word, progress_forms);
  if (quiet || word == "none") return measure::ProgressForm::none;
  if (word == "json-lines") return measure::ProgressForm::json_lines;
  return terminal ? measure::ProgressForm::terminal : measure::ProgressForm::none;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  const std::string_view near = scenario::nearest(word, views);
  if (!near.empty()) return std::string(near);
  for (const std::string& candidate : candidates) {  // a prefix: "--rep" for "--report"
    if (word.size() >= 3 && candidate.starts_with(word)) return candidate;
  }
  return "";
}

std::string from_one(const std::string& text) {
  if (text.empty()) return "the value is empty (expected a whole number from 1 on)";
  long long value = 1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value >= 1) return "";
  return text + " is below 1 (expected a whole number from 1 on)";
}

std::string not_empty(const std::string& list) {
  return list.empty() ? "the list is empty (expected whole numbers separated by commas, e.g. 8,64)" : "";
}

std::vector<long long> parse_worker_list(const std::string& text, const std::string& option) {
  std::vector<long long> workers;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, comma - begin);
    long long value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    const bool whole = error == std::errc() && end == part.data() + part.size();
    if (!whole || value < 1 || value > 1'000'000) {
      throw Failure(ExitCode::usage,
                    option + ": '" + part + (whole ? "' is not from 1 to 1000000" : "' is not a whole number"),
                    "whole numbers from 1 to 1000000 separated by commas, e.g. 8,64", "correct the list");
    }
    workers.push_back(value);
    begin = comma + 1;
  }
  std::sort(workers.begin(), workers.end());
  workers.erase(std::unique(workers.begin(), workers.end()), workers.end());
  return workers;
}

}  // namespace ddpprof::cli
