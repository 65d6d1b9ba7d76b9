// Reports as CSV and JSON, and the selection of the format.
#include "analysis/report/render/render.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "analysis/report/core/ascii.hpp"
#include "analysis/report/core/csv.hpp"
#include "analysis/report/html/page.hpp"
#include "analysis/report/render/render_formats.hpp"

namespace ddpprof::report {
namespace {

using nlohmann::ordered_json;

constexpr int json_version = 1;

const char* to_string(Kind kind) {
  switch (kind) {
    case Kind::text:
    case Kind::prose:
      return "text";
    case Kind::integer:
      return "integer";
    case Kind::real:
      return "real";
    case Kind::share:
      return "ratio";
    case Kind::flag:
      return "flag";
  }
  return "";
}

std::string csv_cell(const Cell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) return "";
  if (const auto* words = std::get_if<std::string>(&cell)) return csv_field(*words);
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return std::to_string(*whole);
  return fmt::format("{}", std::get<double>(cell));
}

ordered_json json_cell(const Column& column, const Cell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) return nullptr;
  if (const auto* words = std::get_if<std::string>(&cell)) return *words;
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
    return column.kind == Kind::flag ? ordered_json(*whole != 0) : ordered_json(*whole);
  }
  const double value = std::get<double>(cell);
  return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr);  // JSON has no infinity
}

}  // namespace

std::optional<Format> parse_format(std::string_view name) {
  if (name == "table") return Format::table;
  if (name == "csv") return Format::csv;
  if (name == "json") return Format::json;
  if (name == "markdown") return Format::markdown;
  if (name == "html") return Format::html;
  return std::nullopt;
}

void render_csv(const Report& report, std::ostream& out) {
  bool first = true;
  for (const Table& table : report.tables) {
    if (!first) out << "\r\n";
    first = false;
    out << "table";
    for (const Column& column : table.columns) out << ',' << csv_field(column.name);
    out << "\r\n";
    for (const Row& row : table.rows) {
      out << csv_field(table.name);
      for (const Cell& cell : row) out << ',' << csv_cell(cell);
      out << "\r\n";
    }
  }
}

void render_json(const Report& report, std::ostream& out) {
  ordered_json document{{"format", "ddpprof-report"}, {"version", json_version}, {"report", report.name}};
  document["tables"] = ordered_json::array();
  for (const Table& table : report.tables) {
    ordered_json columns = ordered_json::array();
    for (const Column& column : table.columns) {
      columns.push_back({{"name", column.name}, {"unit", column.unit}, {"kind", to_string(column.kind)}});
    }
    ordered_json rows = ordered_json::array();
    for (const Row& row : table.rows) {
      ordered_json object = ordered_json::object();
      for (std::size_t i = 0; i < row.size(); ++i) object[table.columns[i].name] = json_cell(table.columns[i], row[i]);
      rows.push_back(std::move(object));
    }
    document["tables"].push_back({{"name", table.name},
                                  {"title", table.title},
                                  {"note", table.note},
                                  {"columns", std::move(columns)},
                                  {"rows", std::move(rows)}});
  }
  // Text from a scenario or a process name may not be UTF-8. Invalid bytes are replaced, so this does not throw.
  out << document.dump(1, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

void render(const Report& report, Format format, std::ostream& out, TextStyle style) {
  switch (format) {
    case Format::table:
      if (style.ascii) {
        std::ostringstream text;
        render_text(report, text, style.width);
        out << ascii_text(text.str());
        return;
      }
      return render_text(report, out, style.width);
    case Format::csv:
      return render_csv(report, out);
    case Format::json:
      return render_json(report, out);
    case Format::markdown:
      return render_markdown(report, out);
    case Format::html:
      return render_html(report, out);
  }
}

}  // namespace ddpprof::report
