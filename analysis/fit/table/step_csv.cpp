#include "analysis/fit/table/step_csv.hpp"

#include <csv.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <exception>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

namespace ddpprof::fit {
namespace {

constexpr std::size_t most_csv_bytes = 16 << 20;
constexpr std::size_t most_rows = 20000;
constexpr std::size_t most_cell = 60;  // of a cell that a message quotes

constexpr std::array<std::string_view, 4> required = {"workers", "nodes", "batch_per_worker", "step_time_s"};
constexpr std::array<std::string_view, 4> optional = {"devices_per_node", "accumulation", "sync_time_s", "strategy"};

std::string names() {
  std::string text;
  for (const std::string_view name : required) text += (text.empty() ? "" : ", ") + std::string(name);
  return text + " (and optionally devices_per_node, accumulation, sync_time_s, strategy)";
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return result;
}

// Returns how to compute a known column from another usual one; empty for another name.
std::string conversion_of(const std::string& name) {
  constexpr std::array<std::string_view, 6> ranks = {"gpus", "n", "ranks", "world_size", "num_gpus", "devices"};
  if (std::ranges::find(ranks, name) != ranks.end()) return "; call the number of ranks workers";
  const auto has = [&](std::initializer_list<std::string_view> parts) {
    return std::ranges::any_of(parts, [&](std::string_view part) { return name.find(part) != name.npos; });
  };
  const bool milliseconds = name.ends_with("_ms") || name.starts_with("ms");
  if (has({"per_step", "/step", "per_iter", "/iter"}))
    return milliseconds ? "; step_time_s is milliseconds per step / 1000" : "; seconds per step are step_time_s";
  if (has({"per_s", "/s", "throughput"})) {
    if (has({"step", "iter"})) return "; from steps per second: step_time_s = 1 / it";
    if (has({"token"}))
      return "; from tokens per second of all ranks, with batch_per_worker in tokens: step_time_s = workers × "
             "batch_per_worker × accumulation / it";
    if (has({"gpu", "rank", "worker", "device"}))
      return "; from samples per second of one rank: step_time_s = batch_per_worker × accumulation / it";
    return "; from samples per second of all ranks: step_time_s = workers × batch_per_worker × accumulation / it";
  }
  if (milliseconds) return "; in seconds: milliseconds / 1000";
  if (name.empty()) return "; the index of a pandas table is left out with to_csv(index=False)";
  if (name.find_first_not_of("0123456789.") == name.npos)
    return "; the first line must name the columns, without a # before them";
  return "";
}

// Returns what a number of this column must be, beside its range.
std::string_view advice_of(std::string_view column) {
  if (column == "devices_per_node") return ": devices that the job uses on its fullest node";
  if (column == "nodes") return ": at most one for each of the row's workers";
  if (column == "batch_per_worker")
    return ": if ranks share a sample, give the batch in tokens, or one worker for each group of them";
  return "";
}

// Blanks as web pages have them, which look like blanks.
std::string_view without_no_break_spaces(std::string_view cell) {
  constexpr std::string_view blank = "\xc2\xa0";
  while (cell.starts_with(blank)) cell.remove_prefix(blank.size());
  while (cell.ends_with(blank)) cell.remove_suffix(blank.size());
  return cell;
}

// The strategy that a word names, in the spellings of its programs: "FSDP", "fsdp2", "FULL_SHARD", "ZeRO-3". Empty for
// another word.
std::string strategy_named(std::string_view word) {
  std::string plain;
  for (const char c : lower(word))
    if (c != '-' && c != '_' && c != ' ') plain += c;
  if (plain == "fsdp1" || plain == "fsdp2" || plain == "fullshard") return "fsdp";
  if (plain == "hybridshard") return "hsdp";
  constexpr std::array<std::string_view, 6> known = {"ddp", "fsdp", "hsdp", "zero1", "zero2", "zero3"};
  return std::ranges::find(known, plain) != known.end() ? plain : "";
}

// Collects the cells that libcsv finds, line by line.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path) {}

  std::vector<StepRow> read(std::string_view text) {
    if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
      throw CsvError(path_.string() + ": is UTF-16; save it as CSV in UTF-8");
    check_separator(text);
    csv_parser parser;
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL) != 0) throw CsvError("csv: out of memory");
    const auto on_cell = [](void* cell, std::size_t length, void* self) {
      static_cast<Reader*>(self)->take_cell({static_cast<const char*>(cell), length});
    };
    // An exception must not pass through C: the first one is kept and thrown afterwards.
    const auto on_line = [](int end, void* self) { static_cast<Reader*>(self)->line_ended(end); };
    const bool whole = csv_parse(&parser, text.data(), text.size(), on_cell, on_line, this) == text.size() &&
                       csv_fini(&parser, on_cell, on_line, this) == 0;
    const std::string why = whole ? "" : csv_strerror(csv_error(&parser));
    csv_free(&parser);
    if (error_) std::rethrow_exception(error_);
    if (!whole) throw CsvError(where() + "is not a comma-separated table (" + why + "); expected columns " + names());
    if (columns_.empty()) throw CsvError(path_.string() + ": is empty; expected a first line with " + names());
    return std::move(rows_);
  }

 private:
  std::string where() const { return path_.string() + ":" + std::to_string(line_) + ": "; }

  void take_cell(std::string_view cell) {
    if (error_) return;
    try {
      ++cells_seen_;
      // More cells are an error anyway.
      if (cells_.size() <= required.size() + optional.size()) cells_.emplace_back(without_no_break_spaces(cell));
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  void line_ended(int end) {
    try {
      // Excel writes "sep=," as a first line.
      const bool comment =
          !cells_.empty() && (cells_[0].starts_with('#') || (columns_.empty() && cells_[0].starts_with("sep=")));
      const bool blank = std::ranges::all_of(cells_, [](const std::string& cell) { return cell.empty(); });
      if (!error_ && !comment && !blank) columns_.empty() ? take_names() : take_row();
    } catch (...) {
      error_ = std::current_exception();
    }
    cells_.clear();
    cells_seen_ = 0;
    if (end == '\n' || end < 0) ++line_;
  }

  void take_names() {
    if (cells_[0].starts_with("\xef\xbb\xbf")) cells_[0].erase(0, 3);      // a byte-order mark
    while (cells_.size() > 1 && cells_.back().empty()) cells_.pop_back();  // of a spreadsheet
    for (std::string& name : cells_) {
      name = lower(name);
      const bool known = std::find(required.begin(), required.end(), name) != required.end() ||
                         std::find(optional.begin(), optional.end(), name) != optional.end();
      if (!known)
        throw CsvError(where() + "unknown column '" + name.substr(0, most_cell) + "'; expected " + names() +
                       conversion_of(name));
      if (columns_.contains(name)) throw CsvError(where() + "column '" + name + "' is there twice");
      const std::size_t place = columns_.size();
      columns_[name] = place;
    }
    for (const std::string_view name : required)
      if (!columns_.contains(name))
        throw CsvError(where() + "column '" + std::string(name) + "' is missing; expected " + names());
  }

  // Throws CsvError if another character than a comma separates the names of the columns. A first line "sep=;", as
  // Excel writes it, names the separator.
  void check_separator(std::string_view text) const {
    constexpr std::array<std::pair<char, std::string_view>, 4> others = {
        {{';', "semicolons"}, {'\t', "tabs"}, {'|', "vertical bars"}, {' ', "blanks"}}};
    while (text.starts_with('#')) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);  // comments
    const std::string_view names = text.substr(0, text.find_first_of("\r\n"));
    if (names.find(',') != std::string_view::npos) return;
    const bool named = lower(names).find("workers") != std::string::npos;
    for (const auto& [separator, name] : others)
      if ((named || separator != ' ') && std::ranges::count(names, separator) >= (names.starts_with("sep=") ? 1 : 3))
        throw CsvError(where() + "the columns are separated by " + std::string(name) +
                       "; expected commas between columns, and a point in numbers (0.35)");
  }

  // Returns true if the row has a value of this optional column.
  bool has(std::string_view column) const {
    const auto found = columns_.find(column);
    return found != columns_.end() && !cells_[found->second].empty();
  }

  template <class T>
  T number(std::string_view column, T least, T most) const {
    const std::string& cell = cells_[columns_.find(column)->second];
    std::string_view digits = cell;
    if constexpr (std::is_integral_v<T>)  // as programs write whole numbers in columns of floating-point ones: 8.0
      if (const std::size_t point = cell.find('.');
          point != std::string::npos && point > 0 && cell.find_first_not_of('0', point + 1) == std::string::npos)
        digits = digits.substr(0, point);
    T value{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || !(value >= least) || !(value <= most)) {
      throw CsvError(where() + std::string(column) + " is '" + cell.substr(0, most_cell) + "'; expected " +
                     (std::is_integral_v<T>
                          ? "a whole number from " + std::to_string(least) + " to " + std::to_string(most)
                          : (least > T{} ? "seconds as a number above 0, at most a million"
                                         : "seconds as a number from 0 to a million")) +
                     (cell.find(',') == cell.npos ? std::string(advice_of(column))
                      : std::is_integral_v<T>     ? ", without separators: 1024"
                                                  : ", with a point: 0.35"));
    }
    return value;
  }

  void take_row() {
    while (cells_seen_ > columns_.size() && cells_.size() == cells_seen_ && cells_.back().empty()) {
      cells_.pop_back();
      --cells_seen_;
    }
    if (cells_seen_ != columns_.size())
      throw CsvError(where() + std::to_string(cells_seen_) + " cells; expected " + std::to_string(columns_.size()) +
                     ", one for each column that the first line names" +
                     (cells_seen_ > columns_.size() ? " (numbers need a point, not a comma: 0.35)" : ""));
    if (rows_.size() == most_rows)
      throw CsvError(where() + "more than " + std::to_string(most_rows) + " rows; expected one row per measurement");
    constexpr std::int64_t many = 1'000'000;
    constexpr double a_nanosecond = 1e-9, longest = 1e6;
    StepRow row;
    row.workers = number<std::int64_t>("workers", 1, many);
    row.nodes = number<std::int64_t>("nodes", 1, row.workers);
    row.batch_per_worker = number<std::int64_t>("batch_per_worker", 1, many * many);
    row.step_s = number("step_time_s", a_nanosecond, longest);
    if (has("devices_per_node"))
      row.devices_per_node = number<std::int64_t>("devices_per_node", (row.workers + row.nodes - 1) / row.nodes,
                                                  row.workers - row.nodes + 1);
    if (has("accumulation")) row.accumulation = number<std::int64_t>("accumulation", 1, many);
    if (has("sync_time_s")) {
      row.sync_s = number("sync_time_s", 0.0, longest);
      if (!(row.sync_s < row.step_s))
        throw CsvError(where() + "sync_time_s is not below step_time_s; expected the part of the step that waits");
    }
    if (has("strategy")) {
      const std::string& cell = cells_[columns_.find("strategy")->second];
      row.strategy = strategy_named(cell);
      if (row.strategy.empty())
        throw CsvError(where() + "strategy is '" + cell.substr(0, most_cell) +
                       "'; expected ddp, fsdp, hsdp, zero1, zero2 or zero3 (ddp for data-parallel rows)");
    }
    rows_.push_back(row);
  }

  const std::filesystem::path& path_;
  std::vector<std::string> cells_;
  std::map<std::string, std::size_t, std::less<>> columns_;
  std::vector<StepRow> rows_;
  std::size_t line_ = 1;
  std::size_t cells_seen_ = 0;  // of this line
  std::exception_ptr error_;
};

}  // namespace

std::vector<StepRow> read_step_csv(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw CsvError(path.string() + ": cannot be read; expected a table of step times");
  std::string text;
  text.reserve(1 << 16);
  std::array<char, 1 << 14> part;
  while (file.read(part.data(), part.size()) || file.gcount() > 0) {
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > most_csv_bytes)
      throw CsvError(path.string() + ": is larger than 16 MiB; expected one row per measurement");
  }
  if (file.bad()) throw CsvError(path.string() + ": cannot be read to its end; expected a table of step times");
  return Reader(path).read(text);
}

bool looks_like_csv(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::ifstream file(path, std::ios::binary);
  std::array<char, 512> begin;
  file.read(begin.data(), begin.size());
  const std::string_view text(begin.data(), static_cast<std::size_t>(file.gcount()));
  if (text.starts_with("SQLite format 3")) return false;
  return path.extension() == ".csv" ||
         (text.find('\0') == std::string_view::npos &&
          (text.find(',') != std::string_view::npos || text.substr(0, text.find('\n')).find("workers") != text.npos));
}

}  // namespace ddpprof::fit
