// Copies a database with other names: every row of every table, each text by the rule of its column.
#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

#include "analysis/export/anonymous/replacements.hpp"
#include "analysis/export/export.hpp"
#include "analysis/export/partial_file.hpp"
#include "tracer/store/database.hpp"
#include "tracer/store/rows/inserter.hpp"

namespace ddpprof::export_ {
namespace {

using Document = nlohmann::json;

// How the texts of a column are treated.
enum class Rule {
  keep,      // words that ddpprof writes, numbers in JSON
  name,      // a name of the class `name_class`
  json,      // the texts inside of JSON are names
  text,      // a text for people
  scenario,  // made elsewhere
};

struct ColumnRule {
  std::string_view table, column;
  Rule rule;
  std::string_view name_class = "name";
};

constexpr std::array rules = {
    ColumnRule{"meta", "key", Rule::keep},
    ColumnRule{"meta", "value", Rule::keep},
    ColumnRule{"scenario", "name", Rule::scenario},
    ColumnRule{"scenario", "path", Rule::scenario},
    ColumnRule{"scenario", "source", Rule::scenario},
    ColumnRule{"scenario", "resolved", Rule::scenario},
    ColumnRule{"measurement", "kind", Rule::keep},
    ColumnRule{"measurement", "strategy", Rule::keep},
    ColumnRule{"measurement", "backend", Rule::keep},
    ColumnRule{"measurement", "device", Rule::keep},
    ColumnRule{"measurement", "model", Rule::name, "model"},
    ColumnRule{"measurement", "precision", Rule::keep},
    ColumnRule{"measurement", "versions", Rule::keep},
    ColumnRule{"measurement", "options", Rule::json, "option"},
    ColumnRule{"measurement", "status", Rule::keep},
    ColumnRule{"measurement", "message", Rule::text},
    ColumnRule{"shard", "host", Rule::name, "host"},
    ColumnRule{"shard", "boot_id", Rule::name, "boot"},
    ColumnRule{"shard", "process", Rule::name, "process"},
    ColumnRule{"shard", "clock_reference", Rule::keep},
    ColumnRule{"host_condition", "host", Rule::name, "host"},
    ColumnRule{"parameter", "name", Rule::name, "parameter"},
    ColumnRule{"step", "kind", Rule::keep},
    ColumnRule{"phase", "name", Rule::name},
    ColumnRule{"collective", "op", Rule::keep},
    ColumnRule{"collective", "datatype", Rule::keep},
    ColumnRule{"collective", "algorithm", Rule::keep},
    ColumnRule{"collective", "protocol", Rule::keep},
    ColumnRule{"process_group", "name", Rule::name, "group"},
    ColumnRule{"process_group", "description", Rule::name, "group"},
    ColumnRule{"process_group", "ranks", Rule::keep},
    ColumnRule{"sharded_unit", "name", Rule::name, "unit"},
    ColumnRule{"sharded_work", "action", Rule::keep},
    ColumnRule{"sharded_work", "pass", Rule::keep},
    ColumnRule{"device_time", "name", Rule::name},
    ColumnRule{"kernel_summary", "kind", Rule::keep},
    ColumnRule{"comm_point", "op", Rule::keep},
    ColumnRule{"fit", "name", Rule::keep},
    ColumnRule{"fit", "strategy", Rule::keep},
    ColumnRule{"fit", "form", Rule::keep},
    ColumnRule{"fit", "status", Rule::keep},
    ColumnRule{"fit", "parameters", Rule::keep},
    ColumnRule{"fit", "covariance", Rule::keep},
    ColumnRule{"fit", "residuals", Rule::keep},
    ColumnRule{"prediction", "strategy", Rule::keep},
    ColumnRule{"prediction", "bound", Rule::keep},
    ColumnRule{"prediction", "note", Rule::text},
    ColumnRule{"learning_rate", "rule", Rule::keep},
    ColumnRule{"learning_rate", "note", Rule::text},
    ColumnRule{"diagnostic", "severity", Rule::keep},
    ColumnRule{"diagnostic", "code", Rule::keep},
    ColumnRule{"diagnostic", "message", Rule::text},
    ColumnRule{"diagnostic", "advice", Rule::text},
    ColumnRule{"string", "value", Rule::name},
    ColumnRule{"thread", "name", Rule::name, "thread"},
    ColumnRule{"range", "payload", Rule::json},
    ColumnRule{"memcpy", "kind", Rule::keep},
    ColumnRule{"api_call", "domain", Rule::keep},
};

// Throws std::logic_error for a column of texts without a rule: a new column of the schema needs one.
const ColumnRule* rule_of(const store::Table& table, const store::Column& column) {
  if (!column.type.empty() && !column.type.starts_with("TEXT")) return nullptr;
  for (const ColumnRule& rule : rules)
    if (rule.table == table.name && rule.column == column.name) return &rule;
  throw std::logic_error(fmt::format("anonymous export: no rule for {}.{}", table.name, column.name));
}

// Members of measurement.options with words that ddpprof writes or reads.
bool is_kept_member(const std::string& key) {
  constexpr std::array kept = {"source",    "sync", "compression", "learning_rate_rule",
                               "operation", "type", "started_by"};
  return std::ranges::find(kept, key) != kept.end();
}

template <class Visit>
void each_text(Document& value, bool of_options, const Visit& visit) {
  if (value.is_object()) {
    for (auto& [key, member] : value.items())
      if (!of_options || !member.is_string() || !is_kept_member(key)) each_text(member, of_options, visit);
  } else if (value.is_array()) {
    for (Document& member : value) each_text(member, of_options, visit);
  } else if (value.is_string()) {
    visit(value);
  }
}

class Copy {
 public:
  Copy(store::Database& from, store::Database& to, const std::vector<AnonymousScenario>& scenarios)
      : from_(from), to_(to), scenarios_(scenarios) {
    for (const AnonymousScenario& scenario : scenarios)
      for (const auto& [original, replacement] : scenario.replaced) names_.add_pair(original, replacement);
  }

  std::int64_t run() {
    for (const store::Table& table : store::tables()) collect(table);
    names_.number();
    std::int64_t rows = 0;
    store::BulkLoad load(to_);
    for (const store::Table& table : store::tables()) rows += copy(table);
    load.commit();
    to_.finish_load();
    return rows;
  }

 private:
  static std::string quoted(std::string_view name) { return fmt::format("\"{}\"", name); }

  // Registers the names of a table.
  void collect(const store::Table& table) {
    for (const store::Column& column : table.columns) {
      const ColumnRule* rule = rule_of(table, column);
      if (rule == nullptr || (rule->rule != Rule::name && rule->rule != Rule::json)) continue;
      SQLite::Statement query(from_.sql(), fmt::format("SELECT DISTINCT {0} FROM {1} WHERE typeof({0}) = 'text'",
                                                       quoted(column.name), quoted(table.name)));
      while (query.executeStep()) {
        const std::string value = query.getColumn(0).getString();
        if (rule->rule == Rule::name) {
          names_.add(rule->name_class, value);
          continue;
        }
        Document json = Document::parse(value, nullptr, /*allow_exceptions=*/false);
        if (json.is_discarded())
          names_.add(rule->name_class, value);
        else
          each_text(json, rule->column == "options",
                    [&](const Document& text) { names_.add(rule->name_class, text.get<std::string>()); });
      }
    }
  }

  std::string replaced(const ColumnRule& rule, const std::string& value) {
    if (rule.rule == Rule::name) return names_.name(rule.name_class, value);
    if (rule.rule == Rule::text) return names_.text(value);
    if (rule.rule == Rule::keep) return value;
    Document json = Document::parse(value, nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded()) return names_.name(rule.name_class, value);
    bool changed = false;
    each_text(json, rule.column == "options", [&](Document& text) {
      std::string name = names_.name(rule.name_class, text.get<std::string>());
      changed = changed || name != text.get_ref<const std::string&>();
      text = std::move(name);
    });
    return changed ? json.dump() : value;
  }

  std::int64_t copy(const store::Table& table) {
    if (table.name == "scenario") return copy_scenarios(table);
    std::string columns;
    std::vector<const ColumnRule*> of_columns;
    for (const store::Column& column : table.columns) {
      columns += (columns.empty() ? "" : ", ") + quoted(column.name);
      of_columns.push_back(rule_of(table, column));
    }
    SQLite::Statement query(from_.sql(), fmt::format("SELECT {} FROM {} ORDER BY rowid", columns, quoted(table.name)));
    store::InsertStatement insert(to_, table.name, table.columns.size());
    std::int64_t rows = 0;
    for (; query.executeStep(); ++rows) {
      std::vector<std::string> texts(of_columns.size());  // bound by reference
      for (int i = 0; i < query.getColumnCount(); ++i) {
        const SQLite::Column value = query.getColumn(i);
        if (value.isNull()) {
          insert.bind_null(i + 1);
        } else if (value.isInteger()) {
          insert.bind(i + 1, value.getInt64());
        } else if (value.isFloat()) {
          insert.bind(i + 1, value.getDouble());
        } else {
          const auto place = static_cast<std::size_t>(i);
          if (of_columns[place] == nullptr)
            throw std::logic_error(fmt::format("anonymous export: a text in {}", table.name));
          texts[place] = replaced(*of_columns[place], value.getString());
          insert.bind(i + 1, std::string_view(texts[place]));
        }
      }
      insert.step();
    }
    return rows;
  }

  std::int64_t copy_scenarios(const store::Table& table) {
    store::InsertStatement insert(to_, table.name, table.columns.size());
    for (const AnonymousScenario& scenario : scenarios_) {
      const std::string path = scenario.name + ".yaml";
      insert.bind(1, scenario.id);
      insert.bind(2, std::string_view(scenario.name));
      insert.bind(3, std::string_view(path));
      insert.bind(4, std::string_view(scenario.yaml));
      insert.bind(5, std::string_view(scenario.yaml));
      insert.step();
    }
    return static_cast<std::int64_t>(scenarios_.size());
  }

  store::Database& from_;
  store::Database& to_;
  const std::vector<AnonymousScenario>& scenarios_;
  Replacements names_;
};

}  // namespace

std::int64_t export_anonymous(store::Database& database, const std::vector<AnonymousScenario>& scenarios,
                              const std::filesystem::path& out) {
  try {
    PartialFile file(out);
    std::error_code error;
    std::filesystem::remove(file.path(), error);  // create() makes no database of an empty file
    std::int64_t rows = 0;
    {
      store::Database copy = store::Database::create(file.path());
      rows = Copy(database, copy, scenarios).run();
    }
    file.finish();
    return rows;
  } catch (const SQLite::Exception& exception) {
    throw store::translate(exception, database.path());
  }
}

}  // namespace ddpprof::export_
