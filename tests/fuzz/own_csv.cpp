// Folders of CSV tables, as ddpprof exports them and somebody may have edited them: restored as they are, or refused in
// words; and what was restored exports to tables that restore alike.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analysis/export/csv_format.hpp"
#include "analysis/export/export.hpp"
#include "tests/fuzz/empty_database.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/fuzz/own_checks.hpp"

using namespace ddpprof;

namespace {

// The tables, each empty but for its headings, in which only what the last input changed is written anew.
class Tables {
 public:
  explicit Tables(const fuzz::Folder& folder) : folder_(folder) {
    std::filesystem::create_directories(path());
    for (const store::Table& table : store::tables()) {
      std::string& headings = empty_[std::string(table.name)];
      for (const store::Column& column : table.columns)
        headings += (headings.empty() ? "" : ",") + export_::csv_heading(column);
      changed_.insert(std::string(table.name));
    }
    reset();
  }
  std::filesystem::path path() const { return folder_.path() / "tables"; }
  bool has(const std::string& table) const { return empty_.contains(table); }
  void write(const std::string& table, std::string_view text) {
    folder_.file("tables/" + table + ".csv", text);
    changed_.insert(table);
  }
  void remove(const std::string& table) {
    std::filesystem::remove(path() / (table + ".csv"));
    changed_.insert(table);
  }
  void append(const std::string& table, std::string_view rows) {
    write(table, empty_.at(table) + "\r\n" + std::string(rows));
  }
  void reset() {
    for (const std::string& table : std::exchange(changed_, {}))
      folder_.file("tables/" + table + ".csv", empty_.at(table) + "\r\n");
  }

 private:
  const fuzz::Folder& folder_;
  std::map<std::string, std::string> empty_;
  std::set<std::string> changed_;
};

}  // namespace

// Parts that begin with a line: "+table" (its rows follow), "=table" (its whole text follows), "-table" (no file).
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  static Tables& tables = *new Tables(folder);  // for as long as the process
  tables.reset();
  std::string_view input = fuzz::text_of(data, size);
  while (!input.empty()) {
    constexpr std::string_view between = "\n\n";
    const std::string_view part = input.substr(0, input.find(between));
    input.remove_prefix(std::min(part.size() + between.size(), input.size()));
    const std::size_t line_end = std::min(part.find('\n'), part.size());
    if (line_end < 2) continue;
    const std::string table(part.substr(1, line_end - 1));
    if (!tables.has(table)) continue;
    std::string text(part.substr(std::min(line_end + 1, part.size())));
    if (!text.empty() && text.back() != '\n') text += "\r\n";
    if (part.front() == '+') tables.append(table, text);
    if (part.front() == '=') tables.write(table, text);
    if (part.front() == '-') tables.remove(table);
  }
  import::own_export_kind(tables.path());
  try {
    store::Database& database = fuzz::empty_database();
    fuzz::check_restored(database, import::restore_csv(database, tables.path()));
    const std::string rows = fuzz::all_rows(database);
    const std::filesystem::path exported = folder.path() / "exported";
    std::filesystem::remove_all(exported);
    export_::export_csv(database, exported);
    store::Database& again = fuzz::empty_database();
    try {
      import::restore_csv(again, exported);
    } catch (const import::OwnExportError& error) {
      fuzz::require(false, std::string("what was exported is restored: ") + error.what());
    }
    fuzz::require(fuzz::all_rows(again) == rows, "what was restored and exported restores alike");
  } catch (const import::OwnExportError& error) {
    fuzz::require(std::string_view(error.what()).find(".csv") != std::string_view::npos, "a refusal names the file");
  }
  return 0;
}
