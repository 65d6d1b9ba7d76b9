#include "analysis/report/html/page.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <ostream>

#include "analysis/report/core/display.hpp"
#include "analysis/report/html/escape.hpp"
#include "analysis/report/html/figures.hpp"
#include "analysis/report/html/style.hpp"
#include "analysis/report/html/table_reader.hpp"

namespace ddpprof::report {
namespace {

using html::escaped;

constexpr std::size_t longest_open = 40;  // tables with more rows are collapsed
constexpr std::size_t always_open = 2;    // tables that are open in a report without an answer
constexpr const char* answer_name = "answer";

struct Word {
  const char* word;
  const char* classes;
};
// Values of the columns `severity` and `verdict` that are shown in colour.
constexpr std::array<Word, 8> judgements = {{{"error", "bad"},
                                             {"bad", "bad"},
                                             {"different", "bad"},
                                             {"warning", "warn"},
                                             {"cannot tell", "warn"},
                                             {"drifts", "warn"},
                                             {"good", "good"},
                                             {"no difference shown", "good"}}};

// Makes ids that are unique on the page, in the order of the tables.
std::vector<std::string> ids_of(const Report& report) {
  std::map<std::string, int> used;
  std::vector<std::string> ids;
  for (const Table& table : report.tables) {
    const std::string id = "table-" + html::identifier(table.name);
    const int times = used[id]++;
    ids.push_back(times == 0 ? id : fmt::format("{}-{}", id, times + 1));
  }
  return ids;
}

std::string cell_text(const std::string& column, const std::string& shown) {
  if (column != "severity" && column != "verdict") return escaped(shown);
  const char* classes = "";
  for (const Word& known : judgements)
    if (shown == known.word) classes = known.classes;
  return fmt::format("<span class=\"badge {}\">{}</span>", classes, escaped(shown));
}

std::string heading(const ShownColumn& column) {
  return escaped(column.title) +
         (column.unit.empty() ? "" : " <span class=\"unit\">[" + escaped(column.unit) + "]</span>");
}

std::string cell_classes(const ShownColumn& column) {
  std::string classes = column.right ? "n" : column.prose ? "p" : "";
  if (column.key) classes += classes.empty() ? "k" : " k";
  return classes.empty() ? "" : " class=\"" + classes + "\"";
}

void write_records(const Table& table, const std::string& id, std::ostream& out) {
  const std::vector<ShownColumn> columns = show(table);
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    out << "<dl class=\"record\" aria-labelledby=\"" << id << "\">\n";
    for (const ShownColumn& column : columns) {
      if (column.cells[row] == "–") continue;
      out << "<div><dt>" << heading(column) << "</dt><dd>"
          << cell_text(table.columns[column.column].name, column.cells[row]) << "</dd></div>\n";
    }
    out << "</dl>\n";
  }
}

void write_rows(const Table& table, const std::string& id, std::ostream& out) {
  const std::vector<ShownColumn> columns = show(table);
  out << "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"" << id << "\"><table>\n<thead><tr>";
  for (const ShownColumn& column : columns)
    out << "<th scope=\"col\"" << (column.right ? " class=\"n\"" : "") << '>' << heading(column) << "</th>";
  out << "</tr></thead>\n<tbody>\n";
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    out << "<tr>";
    for (const ShownColumn& column : columns)
      out << "<td" << cell_classes(column) << '>' << cell_text(table.columns[column.column].name, column.cells[row])
          << "</td>";
    out << "</tr>\n";
  }
  out << "</tbody>\n</table></div>\n";
}

void write_figures(const Report& report, const Table& table, std::ostream& out) {
  const std::vector<html::Figure> figures = html::figures_for(report, table);
  if (figures.empty()) return;
  out << "<div class=\"figures\">\n";
  for (const html::Figure& figure : figures) {
    out << "<figure>\n<figcaption><b>" << escaped(figure.title) << "</b>\n<ul class=\"legend\">\n";
    for (const html::LegendItem& item : figure.legend)
      out << "<li>" << html::swatch(item) << ' ' << escaped(item.text) << "</li>\n";
    out << "</ul></figcaption>\n" << figure.svg;
    if (!figure.caption.empty()) out << "<p class=\"note\">" << escaped(figure.caption) << "</p>\n";
    out << "</figure>\n";
  }
  out << "</div>\n";
}

void write_table(const Report& report, const Table& table, const std::string& id, int level, std::ostream& out) {
  out << fmt::format("<section>\n<h{0} id=\"{1}\">{2}</h{0}>\n", level, id, escaped(table.title));
  write_figures(report, table, out);
  if (table.rows.empty()) {
    out << "<p class=\"empty\">" << escaped(table.empty) << "</p>\n";
  } else if (table.as_record) {
    write_records(table, id, out);
  } else {
    const bool folded = table.rows.size() > longest_open && report.tables.size() > always_open;
    if (folded) out << "<details><summary>" << table.rows.size() << " rows</summary>\n";
    write_rows(table, id, out);
    if (folded) out << "</details>\n";
  }
  if (!table.note.empty()) out << "<p class=\"note\">" << escaped(table.note) << "</p>\n";
  out << "</section>\n";
}

// The measured configurations: one line per row of the table `run`.
void write_about(const Report& report, std::ostream& out) {
  const Table* run = html::table_of(report, "run");
  if (run == nullptr) return;
  const html::TableReader table(*run);
  for (const Row& row : table.rows()) {
    std::string line;
    const auto add = [&](const std::string& before, const std::string& value) {
      if (!value.empty()) line += (line.empty() ? "" : " · ") + before + one_line(value);
    };
    const std::string scenario = table.text(row, "scenario"), model = table.text(row, "model");
    add("", scenario.empty() ? table.text(row, "kind") : scenario);
    if (model != scenario) add("", model);
    add("", table.text(row, "strategies"));
    add("N = ", table.text(row, "workers"));
    add("", table.text(row, "device"));
    add("", table.text(row, "backend"));
    add("", table.text(row, "versions"));
    add("measured ", table.text(row, "started_utc"));
    out << "<p class=\"about\">" << escaped(line) << "</p>\n";
  }
}

void write_answer(const Table& answer, const std::string& id, std::ostream& out) {
  out << "<section class=\"answer\">\n<h2 id=\"" << id << "\">" << escaped(answer.title) << "</h2>\n<dl>\n";
  const html::TableReader table(answer);
  for (const Row& row : table.rows())
    out << "<dt>" << escaped(one_line(table.text(row, "about"))) << "</dt><dd>"
        << escaped(one_line(table.text(row, "answer"))) << "</dd>\n";
  out << "</dl>\n</section>\n";
}

// Links to all tables, grouped by section.
void write_contents(const Report& report, const std::vector<std::string>& ids, const Table* answer, std::ostream& out) {
  if (report.tables.size() < 3) return;
  out << "<nav aria-label=\"Contents\">\n<ul class=\"group\">\n";
  const std::string* section = nullptr;
  for (std::size_t i = 0; i < report.tables.size(); ++i) {
    const Table& table = report.tables[i];
    if (&table == answer) continue;
    const bool begins = !table.section.empty() && (section == nullptr || *section != table.section);
    if (begins) out << (section != nullptr ? "</ul></li>\n" : "") << "<li>" << escaped(table.section) << "\n<ul>\n";
    if (begins) section = &table.section;
    out << "<li><a href=\"#" << ids[i] << "\">" << escaped(table.title) << "</a></li>\n";
  }
  out << (section != nullptr ? "</ul></li>\n" : "") << "</ul>\n</nav>\n";
}

std::string page_title(const Report& report) {
  const Table* run = html::table_of(report, "run");
  std::string name;
  if (run != nullptr) {
    const html::TableReader table(*run);
    for (const char* column : {"scenario", "model", "kind"})
      if (name.empty()) name = one_line(table.text(run->rows.front(), column));
  }
  return "ddpprof: " + report.title + (name.empty() ? "" : " of " + name);
}

}  // namespace

void render_html(const Report& report, std::ostream& out) {
  const std::string title = escaped(page_title(report));
  out << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n"
      << "<title>" << title << "</title>\n<style>" << html::style() << "</style>\n</head>\n<body>\n<header>\n<h1>"
      << title << "</h1>\n";
  write_about(report, out);
  out << "</header>\n<main>\n";
  const std::vector<std::string> ids = ids_of(report);
  const Table* answer = html::table_of(report, answer_name);
  for (std::size_t i = 0; i < report.tables.size(); ++i)
    if (&report.tables[i] == answer) write_answer(*answer, ids[i], out);
  write_contents(report, ids, answer, out);
  const std::string* section = nullptr;
  for (std::size_t i = 0; i < report.tables.size(); ++i) {
    const Table& table = report.tables[i];
    if (&table == answer) continue;
    if (!table.section.empty() && (section == nullptr || *section != table.section)) {
      section = &table.section;
      out << "<h2>" << escaped(table.section) << "</h2>\n";
    }
    write_table(report, table, ids[i], table.section.empty() ? 2 : 3, out);
  }
  if (!report.note.empty()) out << "<p class=\"note\">" << escaped(report.note) << "</p>\n";
  out << "</main>\n</body>\n</html>\n";
}

}  // namespace ddpprof::report
