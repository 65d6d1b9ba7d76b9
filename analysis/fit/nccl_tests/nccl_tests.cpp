#include "analysis/fit/nccl_tests/nccl_tests.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

#include "analysis/fit/nccl_tests/nccl_json.hpp"
#include "analysis/fit/nccl_tests/nccl_line.hpp"
#include "analysis/fit/nccl_tests/nccl_names.hpp"
#include "analysis/fit/nccl_tests/nccl_ranks.hpp"

namespace ddpprof::fit {
namespace {

constexpr std::size_t most_log_bytes = 16 << 20;

bool contains(const std::vector<std::string_view>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// Returns true if the words can be the size, the count and the type of a row that ends there.
bool is_beginning_of_row(const std::vector<std::string_view>& words) {
  const auto whole = [](std::string_view word) { return word.find_first_not_of("0123456789") == word.npos; };
  return !words.empty() && words.size() <= 3 && whole(words[0]) && (words.size() < 2 || whole(words[1]));
}

// Collects one run, line by line.
class RunReader {
 public:
  // Returns true if a line that begins a heading starts the next run: this one has ranks or column names, or has ended.
  // Ranks follow each other.
  bool is_over(bool at_rank) const {
    return has_columns_ || concluded_ || !run_.rows.empty() || pending_ || incomplete_ > 0 ||
           (!at_rank && !ranks_.empty());
  }
  bool concluded() const { return concluded_; }

  // `words` are those after the '#'.
  void add_heading(const std::vector<std::string_view>& words) {
    if (words.size() > 3 && words[0] == "Collective" && words[1] == "test") {
      if (run_.collective.empty()) run_.collective = collective_of_program(words[3]);
      concluded_ = concluded_ || words[2] == "concluded:";
    } else if (words[0] == "Rank") {
      add_nccl_rank(words, ranks_);
    } else if (contains(words, "size") && contains(words, "count") && contains(words, "type")) {
      drop_pending();
      has_columns_ = true;
      columns_ = words.size();
      counts_wrong_ = contains(words, "#wrong");
      run_.cpu_times = run_.cpu_times || contains(words, "cputime");
    } else if (words.size() > 5 && words[0] == "Out" && words[1] == "of") {
      drop_pending();
      summarized_ = true;
      if (words[5] != "0") wrong_ = std::string(words[5].substr(0, 24));
    } else if (words[0] == "Avg") {
      drop_pending();
      concluded_ = true;
    }
  }

  // Throws NcclTestsError without the name of the file.
  void add_line(const std::vector<std::string_view>& words) {
    if (words.empty()) return;
    begins_row_ = false;
    if (auto row = nccl_row(words)) {
      drop_pending();
      if (row->disagrees)
        throw NcclTestsError("the time and the bandwidth of " + std::string(words[0].substr(0, 24)) +
                             " bytes do not agree; expected size, count, type, [operation, root,] time in us, algbw "
                             "and busbw in GB/s");
      if (!row->times) {
        pending_ = std::move(row->start);
        return;
      }
      if (counts_wrong_ && row->count_above_0) ++wrong_rows_;
      add_row(row->start, *row->times, row->columns);
    } else if (pending_) {
      if (const auto times = nccl_row_end(words, pending_->bytes)) {
        add_row(*pending_, *times, 0);
        pending_.reset();
      }
    } else {
      begins_row_ = has_columns_ && is_beginning_of_row(words);
    }
  }

  // `inside`: an earlier run of the log had not ended when this one began.
  NcclTestsRun finish(bool inside) {
    drop_pending();
    if (!concluded_ && !summarized_) drop_cut_row();
    keep_one_kind(run_);
    set_nccl_ranks(ranks_, 1, run_);
    if (inside) count_copies();
    set_bus_factors(run_);
    if (!wrong_.empty())
      run_.warnings.push_back(wrong_values_warning(wrong_));
    else if (!summarized_ && wrong_rows_ > 0)
      run_.warnings.push_back(wrong_values_warning(std::to_string(wrong_rows_) + " sizes"));
    if (incomplete_ > 0) run_.warnings.push_back(lost_rows());
    return std::move(run_);
  }

 private:
  NcclTestsWarning lost_rows() const {
    std::string text = incomplete_ == 1
                           ? "1 row was left out, because it is incomplete"
                           : std::to_string(incomplete_) + " rows were left out, because they are incomplete";
    if (incomplete_bytes_ > 0)
      text += (incomplete_ == 1 ? " (its size is " : " (the size of the last one is ") +
              std::to_string(incomplete_bytes_) + " bytes)";
    return {"log_rows_lost", text + ": the log is cut, or another program's output was printed into the row",
            "give the complete log, without output of NCCL_DEBUG"};
  }

  void add_row(const NcclRowStart& start, const NcclTestsRow& row, std::size_t columns) {
    if (run_.rows.empty()) run_.root = start.root.value_or(-1);
    run_.rows.push_back(row);
    run_.rows.back().type = start.type;
    run_.rows.back().operation = start.operation;
    if (columns > 0) {
      most_columns_ = run_.rows.size() == 1 ? columns : std::max(most_columns_, columns);
      last_columns_ = columns;
    }
  }

  void drop_pending() {
    if (!pending_) return;
    ++incomplete_;
    incomplete_bytes_ = pending_->bytes;
    pending_.reset();
  }

  // Removes the last row if the log ends in it: it has fewer columns than the others, and no summary follows. The last
  // figure of such a row may be cut too.
  void drop_cut_row() {
    if (begins_row_) ++incomplete_;
    if (run_.rows.empty() || begins_row_) return;
    const std::size_t expected = run_.rows.size() > 1 ? most_columns_ : columns_;
    if (last_columns_ == 0 || last_columns_ >= expected) return;
    ++incomplete_;
    incomplete_bytes_ = run_.rows.back().bytes;
    run_.rows.pop_back();
  }

  // Programs that print into the same log, each with a heading of its own: each size is there once for each program.
  void count_copies() {
    std::map<std::int64_t, std::int64_t> sizes;
    for (const NcclTestsRow& row : run_.rows) ++sizes[row.bytes];
    std::int64_t least = run_.rows.empty() ? 1 : static_cast<std::int64_t>(run_.rows.size());
    for (const auto& [bytes, count] : sizes) least = std::min(least, count);
    run_.copies = std::max(run_.copies, least);
  }

  NcclTestsRun run_;
  std::vector<NcclRank> ranks_;
  std::optional<NcclRowStart> pending_;  // a row without its times
  std::string wrong_;                    // of the summary; empty: none
  bool has_columns_ = false, counts_wrong_ = false, summarized_ = false, concluded_ = false;
  bool begins_row_ = false;                                        // the last line is the beginning of a row
  std::size_t columns_ = 0, most_columns_ = 0, last_columns_ = 0;  // of the column names, of the rows
  std::int64_t incomplete_ = 0, incomplete_bytes_ = 0, wrong_rows_ = 0;
};

// Returns true for the first lines of a heading. A line "Rank …" is one of them if the run already has rows.
bool begins_run(const std::vector<std::string_view>& words) {
  if (words[0] == "Collective") return words.size() > 2 && words[2] == "starting:";
  return words[0] == "nThread" || words[0] == "nccl-tests" || words[0] == "Using" || words[0] == "Rank";
}

std::vector<NcclTestsRun> runs_of(const std::string& text, const std::string& path) {
  std::vector<NcclTestsRun> runs;
  RunReader reader;
  bool inside = false;
  const auto finish = [&] {
    const bool interrupted = !reader.concluded();
    if (NcclTestsRun run = reader.finish(inside); !run.rows.empty()) runs.push_back(std::move(run));
    inside = interrupted;
    reader = {};
  };
  std::size_t number_of_line = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    ++number_of_line;
    const std::string content = nccl_content(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    if (content.starts_with('#')) {
      const std::vector<std::string_view> words = words_of(std::string_view(content).substr(1));
      if (words.empty()) continue;
      if (begins_run(words) && reader.is_over(words[0] == "Rank")) finish();
      reader.add_heading(words);
      continue;
    }
    try {
      reader.add_line(words_of(content));
    } catch (const NcclTestsError& error) {
      throw NcclTestsError(path + ":" + std::to_string(number_of_line) + ": " + error.what());
    }
  }
  finish();
  return runs;
}

}  // namespace

std::vector<NcclTestsRun> read_nccl_tests(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw NcclTestsError(path.string() + ": cannot be read; expected the output of nccl-tests");
  std::string text(most_log_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > most_log_bytes)
    throw NcclTestsError(path.string() + ": is larger than 16 MiB; expected the output of nccl-tests");
  std::vector<NcclTestsRun> runs;
  if (looks_like_nccl_json(text)) {
    try {
      runs.push_back(read_nccl_json(text));
    } catch (const NcclTestsError& error) {
      throw NcclTestsError(path.string() + ": " + error.what());
    }
  } else {
    runs = runs_of(text, path.string());
  }
  if (std::ranges::all_of(runs, [](const NcclTestsRun& run) { return run.rows.empty(); }))
    throw NcclTestsError(path.string() +
                         ": contains no line with a message size; expected lines as all_reduce_perf prints them");
  return runs;
}

std::optional<std::int64_t> ranks_of(const NcclTestsRun& run) {
  if (run.ranks > 0) return run.ranks;
  // 2 (N-1)/N = f gives N = 2 / (2 - f). N is known if exactly one whole number lies between the ends.
  if (!(run.bus_factor_low > 0.0) || !(run.bus_factor_low <= run.bus_factor_high) || !(run.bus_factor_high < 2.0))
    return std::nullopt;
  const double low = std::ceil(2.0 / (2.0 - run.bus_factor_low)), high = std::floor(2.0 / (2.0 - run.bus_factor_high));
  if (low != high || low < 3.0) return std::nullopt;  // busbw = algbw is also what a reduce of any number prints
  return static_cast<std::int64_t>(low);
}

}  // namespace ddpprof::fit
