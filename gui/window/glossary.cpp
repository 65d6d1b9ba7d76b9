#include "gui/window/glossary.hpp"

#include "analysis/report/core/columns.hpp"

namespace ddpprof::gui {
namespace {

struct Entry {
  const char *word, *meaning;
};

// The table of docs/glossary.md; the build generates the file from it.
constexpr Entry entries[] = {
#include <glossary_entries.inc>
};

}  // namespace

report::Table glossary_table() {
  report::Table table;
  table.name = "glossary";
  table.title = "Glossary";
  table.columns = {report::text("word", "word"), report::prose("meaning", "what it means")};
  for (const Entry& entry : entries) table.rows.push_back({std::string(entry.word), std::string(entry.meaning)});
  return table;
}

}  // namespace ddpprof::gui
