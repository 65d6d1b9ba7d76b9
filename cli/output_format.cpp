#include "cli/output_format.hpp"

namespace ddpprof::cli {

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
  check_word("--format", word, {"table", "csv", "json", "markdown", "html"});
  return *report::parse_format(word);
}

measure::ProgressForm checked_progress(const std::string& word, bool terminal, bool quiet) {
  check_word("--progress", word, {"auto", "json-lines", "none"});
  if (quiet || word == "none") return measure::ProgressForm::none;
  if (word == "json-lines") return measure::ProgressForm::json_lines;
  return terminal ? measure::ProgressForm::terminal : measure::ProgressForm::none;
}

}  // namespace ddpprof::cli
