// Writes the rows of tables that are not events, in JSON members that fit into a reader's buffer.
#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>

#include "analysis/export/chrome_shards.hpp"
#include "analysis/export/chrome_writer.hpp"
#include "tracer/store/schema/schema.hpp"

namespace ddpprof::export_ {
namespace {

constexpr std::size_t part_bytes = std::size_t{128} << 10;  // of rows; then the next member begins
constexpr std::size_t longest_cell_bytes = std::size_t{16} << 10;
constexpr std::size_t text_part_bytes = std::size_t{64} << 10;

class Members {
 public:
  explicit Members(ChromeWriter& writer) : writer_(writer) {}

  void table(SQLite::Database& db, const store::Table& table) {
    std::string columns, heads;
    for (const store::Column& column : table.columns) {
      columns += fmt::format("{}\"{}\"", columns.empty() ? "" : ", ", column.name);
      heads += fmt::format("{}\"{}\"", heads.empty() ? "" : ",", column.name);
    }
    head_ = fmt::format("{{\"table\":\"{}\",\"columns\":[{}],\"rows\":[\n", table.name, heads);
    SQLite::Statement query(db, fmt::format("SELECT {} FROM \"{}\" ORDER BY rowid", columns, table.name));
    std::int64_t rows = 0;
    for (; query.executeStep(); ++rows) {
      const std::string row = row_of(query);
      rows_ += (rows_.empty() ? "" : ",\n") + row;
      if (rows_.size() >= part_bytes) flush();
    }
    flush();
    writer_.count(table.name, rows);
  }

 private:
  std::string row_of(SQLite::Statement& query) {
    Json row = Json::array();
    for (int i = 0; i < query.getColumnCount(); ++i) {
      const SQLite::Column value = query.getColumn(i);
      if (value.isNull())
        row.push_back(nullptr);
      else if (value.isInteger())
        row.push_back(value.getInt64());
      else if (value.isFloat())
        row.push_back(cell(value.getDouble()));
      else
        row.push_back(text(value.getString()));
    }
    return row.dump();
  }

  // A long text is written in parts before its row. The row has an empty array in its place.
  Json text(const std::string& value) {
    if (value.size() <= longest_cell_bytes) return cell(value);
    flush();
    for (std::size_t from = 0; from < value.size();) {
      std::size_t to = std::min(from + text_part_bytes, value.size());
      while (to < value.size() && to > from + 1 && (static_cast<unsigned char>(value[to]) & 0xC0) == 0x80) --to;
      const Json part = {{"text", cell(std::string_view(value).substr(from, to - from))}, {"ends", to == value.size()}};
      next_member(part.dump());
      from = to;
    }
    return Json::array();
  }

  void flush() {
    if (!rows_.empty()) next_member(head_ + rows_ + "]}");
    rows_.clear();
  }

  void next_member(const std::string& json) { writer_.member(fmt::format("{} {}", own_key, ++members_), json); }

  ChromeWriter& writer_;
  std::string head_, rows_;
  std::int64_t members_ = 0;
};

}  // namespace

void write_tables(SQLite::Database& db, ChromeWriter& writer) {
  Members members(writer);
  for (const store::Table& table : store::tables())
    if (std::ranges::find(event_tables, table.name) == event_tables.end()) members.table(db, table);
}

}  // namespace ddpprof::export_
