// Reports as aligned text and as Markdown.
#include <algorithm>
#include <ostream>

#include "analysis/report/core/display.hpp"
#include "analysis/report/render/render_formats.hpp"

namespace ddpprof::report {
namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t narrowest_prose = 24;

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t have = display_width(text);
  const std::string fill(width > have ? width - have : 0, ' ');
  return right ? fill + text : text + fill;
}

std::vector<std::string> wrap(const std::string& text, std::size_t width) {
  std::vector<std::string> lines{""};
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t space = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, space - at);
    at = space + 1;
    if (word.empty()) continue;
    if (!lines.back().empty() && display_width(lines.back()) + 1 + display_width(word) > width) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  return lines;
}

std::size_t longest(const std::vector<std::string>& lines) {
  std::size_t width = 0;
  for (const std::string& line : lines) width = std::max(width, display_width(line));
  return width;
}

// Headings are wrapped between words to the width of the cells; the unit has its own line.
std::vector<std::string> heading_lines(const ShownColumn& column, std::size_t width) {
  std::vector<std::string> lines = wrap(column.title, width);
  if (!column.unit.empty()) lines.push_back("[" + column.unit + "]");
  return lines;
}

std::size_t natural_width(const ShownColumn& column) {
  const std::size_t cells = longest(column.cells);
  return std::max(cells, longest(heading_lines(column, cells)));
}

// Words are not split.
std::size_t narrowest(const ShownColumn& column) {
  if (!column.prose) return natural_width(column);
  std::size_t width = std::min(natural_width(column), narrowest_prose);
  for (const std::string& cell : column.cells) width = std::max(width, longest(wrap(cell, 1)));
  return width;
}

void write_line(std::ostream& out, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << '\n';
}

using Block = std::vector<const ShownColumn*>;

// Splits columns into blocks that fit; every block starts with the key columns. Prose columns count with their minimum
// width.
std::vector<Block> fold(const std::vector<ShownColumn>& columns, std::size_t width) {
  Block keys;
  std::size_t key_width = 0;
  const auto least = [](const ShownColumn& c) { return gap + narrowest(c); };
  for (const ShownColumn& c : columns) {
    if (!c.key) continue;
    keys.push_back(&c);
    key_width += least(c);
  }
  std::vector<Block> blocks;
  std::size_t used = 0;
  for (const ShownColumn& c : columns) {
    if (c.key) continue;
    if (blocks.empty() || (used + least(c) > width + gap && blocks.back().size() > keys.size())) {
      blocks.push_back(keys);
      used = key_width;
    }
    blocks.back().push_back(&c);
    used += least(c);
  }
  if (blocks.empty()) blocks.push_back(keys);
  return blocks;
}

std::vector<std::size_t> widths_of(const Block& block, std::size_t width) {
  std::vector<std::size_t> widths;
  std::size_t total = 0;
  for (const ShownColumn* c : block) {
    widths.push_back(natural_width(*c));
    total += widths.back() + gap;
  }
  // Prose columns are narrowed, the widest first, until the block fits.
  while (total > width + gap) {
    std::size_t widest = block.size();
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (!block[i]->prose || widths[i] <= narrowest(*block[i])) continue;
      if (widest == block.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == block.size()) break;
    --widths[widest];
    --total;
  }
  return widths;
}

// One row of cells; each cell may have several lines.
void write_rows(std::ostream& out, const Block& block, const std::vector<std::size_t>& widths,
                const std::vector<std::vector<std::string>>& cells) {
  std::size_t height = 0;
  for (const auto& lines : cells) height = std::max(height, lines.size());
  for (std::size_t part = 0; part < height; ++part) {
    std::string line;
    for (std::size_t i = 0; i < block.size(); ++i) {
      line += padded(part < cells[i].size() ? cells[i][part] : "", widths[i], block[i]->right) + std::string(gap, ' ');
    }
    write_line(out, line);
  }
}

void write_headings(std::ostream& out, const Block& block, const std::vector<std::size_t>& widths) {
  std::vector<std::vector<std::string>> headings;
  std::size_t heading_height = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    headings.push_back(heading_lines(*block[i], widths[i]));
    heading_height = std::max(heading_height, headings.back().size());
  }
  for (std::vector<std::string>& lines : headings) lines.insert(lines.begin(), heading_height - lines.size(), "");
  write_rows(out, block, widths, headings);
  std::string rule;
  for (const std::size_t column_width : widths) rule += std::string(column_width, '-') + std::string(gap, ' ');
  write_line(out, rule);
}

// `with_headings`: false leaves the headings out.
void write_block(std::ostream& out, const Block& block, std::size_t rows, std::size_t width, bool with_headings) {
  const std::vector<std::size_t> widths = widths_of(block, width);
  if (with_headings) write_headings(out, block, widths);
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<std::vector<std::string>> cells;
    for (std::size_t i = 0; i < block.size(); ++i) {
      const std::string& cell = block[i]->cells[row];
      cells.push_back(block[i]->prose ? wrap(cell, widths[i]) : std::vector<std::string>{cell});
    }
    write_rows(out, block, widths, cells);
  }
}

void write_record(std::ostream& out, const std::vector<ShownColumn>& columns, std::size_t rows, std::size_t width) {
  std::size_t names = 0;
  for (const ShownColumn& c : columns) names = std::max(names, display_width(c.heading()));
  for (std::size_t row = 0; row < rows; ++row) {
    if (row > 0) out << '\n';
    for (const ShownColumn& c : columns) {
      if (c.cells[row] == "–") continue;
      const std::size_t room = std::max(width, names + gap + narrowest_prose) - names - gap;
      std::string name = c.heading();
      for (const std::string& line : wrap(c.cells[row], room)) {
        write_line(out, padded(name, names + gap, false) + line);
        name.clear();
      }
    }
  }
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '\\' || c == '<' || c == '*' || c == '_' || c == '`') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

void render_text(const Report& report, std::ostream& out, int width) {
  const auto room = static_cast<std::size_t>(width > 0 ? std::max(width, 40) : default_width);
  bool first = true;
  for (const Table& table : report.tables) {
    if (!first) out << '\n';
    first = false;
    out << table.title << '\n' << std::string(display_width(table.title), '=') << '\n';
    if (table.rows.empty()) {
      for (const std::string& line : wrap(table.empty, room)) write_line(out, line);
      continue;
    }
    const std::vector<ShownColumn> columns = show(table);
    if (table.as_record) {
      write_record(out, columns, table.rows.size(), room);
    } else {
      bool first_block = true;
      for (const Block& block : fold(columns, room)) {
        if (!first_block) out << '\n';
        first_block = false;
        write_block(out, block, table.rows.size(), room, !table.plain);
      }
    }
    if (!table.note.empty()) {
      for (const std::string& line : wrap(table.note, room)) write_line(out, line);
    }
  }
  if (report.note.empty()) return;
  out << '\n';
  for (const std::string& line : wrap(report.note, room)) write_line(out, line);
}

void render_markdown(const Report& report, std::ostream& out) {
  out << "# " << report.title << '\n';
  for (const Table& table : report.tables) {
    out << "\n## " << table.title << "\n\n";
    if (table.rows.empty()) {
      out << escaped(table.empty) << '\n';
      continue;
    }
    const std::vector<ShownColumn> columns = show(table);
    if (table.as_record) {
      for (std::size_t row = 0; row < table.rows.size(); ++row) {
        if (row > 0) out << '\n';
        out << "| | |\n|---|---|\n";
        for (const ShownColumn& c : columns) {
          if (c.cells[row] != "–") out << "| " << escaped(c.heading()) << " | " << escaped(c.cells[row]) << " |\n";
        }
      }
    } else {
      for (const ShownColumn& c : columns) out << "| " << escaped(c.heading()) << ' ';
      out << "|\n";
      for (const ShownColumn& c : columns) out << (c.right ? "|---:" : "|---");
      out << "|\n";
      for (std::size_t row = 0; row < table.rows.size(); ++row) {
        for (const ShownColumn& c : columns) out << "| " << escaped(c.cells[row]) << ' ';
        out << "|\n";
      }
    }
    if (!table.note.empty()) out << '\n' << escaped(table.note) << '\n';
  }
  if (!report.note.empty()) out << '\n' << escaped(report.note) << '\n';
}

}  // namespace ddpprof::report
