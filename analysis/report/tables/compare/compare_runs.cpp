// Other differences between two files: versions, options, scenario keys, machines, conditions and warnings.
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "analysis/metrics/conditions.hpp"
#include "analysis/report/core/words.hpp"
#include "analysis/report/tables/compare/compare_parts.hpp"
#include "analysis/report/tables/run/run.hpp"
#include "simulator/units/units.hpp"
#include "tracer/store/rows/queries.hpp"

namespace ddpprof::report {
namespace {

using nlohmann::json;
using Settings = std::map<std::string, std::string>;  // name → value

void flatten(const json& value, const std::string& name, std::map<std::string, std::set<std::string>>& into) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) flatten(inner, name.empty() ? key : name + "." + key, into);
    return;
  }
  into[name].insert(value.is_string() ? value.get<std::string>() : value.dump());
}

// Returns the settings in a JSON column over a configuration's measurements; different values of repeats are joined.
Settings json_settings(const Source& source, const metrics::Configuration& c, const char* column) {
  std::map<std::string, std::set<std::string>> all;
  SQLite::Statement q(source.db, std::string("SELECT ") + column + " FROM measurement WHERE id = ?");
  for (const std::int64_t id : c.measurements) {
    q.reset();
    q.bind(1, id);
    if (!q.executeStep()) continue;
    const json object = json::parse(q.getColumn(0).getString(), nullptr, false);
    if (object.is_object()) flatten(object, "", all);
  }
  Settings settings;
  for (const auto& [key, values] : all) settings[key] = joined(values);
  return settings;
}

Settings machine_settings(const metrics::Configuration& c) {
  const auto if_known = [](std::int64_t count) { return count > 0 ? std::to_string(count) : "unknown"; };
  return {{"model", c.model},
          {"device", c.device},
          {"backend", c.backend},
          {"precision", c.precision},
          {"threads per rank", if_known(c.threads_per_rank)},
          {"cores", if_known(c.cores)},
          {"hosts", std::to_string(c.nodes)},
          {"threads per core", units::format_significant(c.oversubscription, 3)},
          {"parameters", if_known(c.parameter_count)},
          {"workers", std::to_string(c.world_size)},
          {"batch per worker", if_known(c.batch_per_worker)},
          {"accumulation", std::to_string(c.accumulation)},
          {"repeats", std::to_string(c.measurements.size())}};
}

struct Climate {
  std::set<std::string> hosts;
  std::optional<double> others, steal, frequency_hz;
};

Climate climate(const metrics::Configuration& c, const metrics::Conditions& conditions) {
  Climate found;
  struct Mean {
    double sum = 0;
    int count = 0;
    void add(const std::optional<double>& value) {
      if (value) sum += *value, ++count;
    }
    std::optional<double> get() const { return count > 0 ? std::optional(sum / count) : std::nullopt; }
  } others, steal, frequency;
  for (const std::int64_t id : c.measurements) {
    const auto rows = conditions.find(id);
    if (rows == conditions.end()) continue;
    for (const store::HostConditionRow& row : rows->second) {
      found.hosts.insert(row.host);
      others.add(row.others_share);
      steal.add(row.steal_share);
      frequency.add(row.frequency_begin_hz);
      frequency.add(row.frequency_end_hz);
    }
  }
  found.others = others.get();
  found.steal = steal.get();
  found.frequency_hz = frequency.get();
  return found;
}

// Equal rows about several configurations are combined.
class Rows {
 public:
  explicit Rows(const Paired& paired) : pairs_(paired.both.size()) {}

  void add(const std::string& area, const std::string& what, const std::string& a, const std::string& b,
           const std::string& about) {
    const auto key = std::tuple(area, what, a, b);
    const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const auto& row) { return row.first == key; });
    if (found == rows_.end())
      rows_.push_back({key, {about}});
    else
      found->second.push_back(about);
  }
  void add(const std::string& area, const Settings& a, const Settings& b, const std::string& about) {
    Settings all = a;
    all.insert(b.begin(), b.end());
    for (const auto& [name, value] : all) {
      const auto in_a = a.find(name), in_b = b.find(name);
      const std::string of_a = in_a == a.end() ? "" : in_a->second, of_b = in_b == b.end() ? "" : in_b->second;
      if (of_a != of_b) add(area, name, of_a, of_b, about);
    }
  }

  void fill(Table& table) const {
    for (const auto& [key, abouts] : rows_) {
      const auto& [area, what, a, b] = key;
      std::string about;
      for (const std::string& one : abouts) about += (about.empty() ? "" : ", ") + one;
      if (pairs_ > 1 && abouts.size() == pairs_) about = "every configuration";
      const auto cell = [](const std::string& text) { return text.empty() ? Cell() : Cell(text); };
      table.rows.push_back({area, what, cell(a), cell(b), about});
    }
  }

 private:
  std::size_t pairs_;
  std::vector<std::pair<std::tuple<std::string, std::string, std::string, std::string>, std::vector<std::string>>>
      rows_;
};

void add_climate(Rows& rows, const Climate& a, const Climate& b, const std::string& about) {
  if (!a.hosts.empty() && !b.hosts.empty() && a.hosts != b.hosts)
    rows.add("conditions", "host", joined(a.hosts), joined(b.hosts), about);
  const auto apart = [](const std::optional<double>& x, const std::optional<double>& y, double most) {
    return x && y && std::abs(*x - *y) > most;
  };
  if (apart(a.others, b.others, metrics::others_share_most))
    rows.add("conditions", "other processes' share", units::percent(*a.others), units::percent(*b.others), about);
  if (apart(a.steal, b.steal, metrics::steal_share_most))
    rows.add("conditions", "steal time of the hypervisor", units::percent(*a.steal), units::percent(*b.steal), about);
  if (a.frequency_hz && b.frequency_hz &&
      std::abs(*b.frequency_hz - *a.frequency_hz) > metrics::frequency_change_most * *a.frequency_hz)
    rows.add("conditions", "processor frequency", units::format_quantity(*a.frequency_hz, "Hz"),
             units::format_quantity(*b.frequency_hz, "Hz"), about);
}

Row file_row(const char* name, const Source& source, const std::string& path) {
  SQLite::Statement measurements(source.db, "SELECT COUNT(*) FROM measurement");  // includes sweeps of collectives
  measurements.executeStep();
  std::int64_t steps = 0;
  for (const metrics::Configuration& c : source.configurations) steps += static_cast<std::int64_t>(c.measured.size());
  const auto cell = [](const std::string& text) { return text.empty() ? Cell() : Cell(text); };
  const auto meta = [&](const char* key) { return cell(store::read_meta(source.db, key).value_or("")); };
  const std::vector<store::ScenarioRow> scenarios = store::read_scenarios(source.db);
  return {name,
          path,
          cell(scenarios.empty() ? "" : scenarios.back().name),
          meta("created_utc"),
          meta("program_version"),
          measurements.getColumn(0).getInt64(),
          steps,
          static_cast<std::int64_t>(notices_table(source).rows.size())};
}

// Settings of one file for compare_settings, read together so that an error names the file.
struct Recorded {
  std::string program_version;
  std::vector<Settings> versions, options;  // by pair
  std::vector<Climate> climates;
};

Recorded recorded(const Source& file, const std::vector<const metrics::Configuration*>& configurations) {
  return reading(file, [&](const Source& source) {
    Recorded all;
    all.program_version = store::read_meta(source.db, "program_version").value_or("");
    const metrics::Conditions conditions = metrics::read_conditions(source.db);
    for (const metrics::Configuration* c : configurations) {
      all.versions.push_back(json_settings(source, *c, "versions"));
      all.options.push_back(json_settings(source, *c, "options"));
      all.climates.push_back(climate(*c, conditions));
    }
    return all;
  });
}

}  // namespace

Table compare_files_table(const Source& a, const std::string& path_a, const Source& b, const std::string& path_b) {
  Table table;
  table.name = "compare_files";
  table.title = "The files";
  table.columns = {text("file", "file"),
                   text("path", "path"),
                   text("scenario", "scenario"),
                   text("created_utc", "created (UTC)"),
                   text("program_version", "ddpprof"),
                   count("measurements", "measurements"),
                   count("steps", "measured steps", "steps"),
                   count("warnings", "warnings and errors")};
  table.key_columns = 1;
  table.rows = {reading(a, [&](const Source& source) { return file_row("A", source, path_a); }),
                reading(b, [&](const Source& source) { return file_row("B", source, path_b); })};
  return table;
}

Table compare_settings_table(const Source& a, const Source& b, const Paired& paired,
                             const std::vector<KeyDifference>& scenario_differences) {
  Table table;
  table.name = "compare_settings";
  table.title = "What differs between the runs";
  table.note =
      "Conditions are listed if they differ by more than the limit from which ddpprof report --report conditions "
      "reports a disturbance.";
  table.empty = "No recorded setting differs: versions, options, scenario, machine and conditions are alike.";
  if (paired.both.empty())
    table.empty = "Settings are compared for configurations of both files, and no configuration was compared.";
  table.columns = {text("area", "area"), text("name", "what"), prose("a", "A"), prose("b", "B"),
                   prose("about", "where")};
  table.key_columns = 2;
  Rows rows(paired);
  std::vector<const metrics::Configuration*> of_a, of_b;
  for (const Pair& pair : paired.both) {
    of_a.push_back(pair.a);
    of_b.push_back(pair.b);
  }
  const Recorded in_a = recorded(a, of_a), in_b = recorded(b, of_b);
  if (in_a.program_version != in_b.program_version)
    rows.add("version", "program", in_a.program_version, in_b.program_version, "the file");
  for (const KeyDifference& key : scenario_differences) rows.add("scenario", key.key, key.a, key.b, "the file");
  for (std::size_t i = 0; i < paired.both.size(); ++i) {
    const Pair& pair = paired.both[i];
    rows.add("version", in_a.versions[i], in_b.versions[i], pair.about);
    rows.add("option", in_a.options[i], in_b.options[i], pair.about);
    rows.add("machine", machine_settings(*pair.a), machine_settings(*pair.b), pair.about);
    add_climate(rows, in_a.climates[i], in_b.climates[i], pair.about);
  }
  rows.fill(table);
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const Row& x, const Row& y) { return x[0] < y[0]; });
  return table;
}

Table compare_notices_table(const Source& a, const Source& b) {
  const auto notices_of = [](const Source& source) { return notices_table(source); };
  const Table in_a = reading(a, notices_of), in_b = reading(b, notices_of);
  Table table = in_a;
  table.name = "compare_notices";
  table.title = "Diagnostics of both files";
  table.note = "Warnings that only one file has come first.";
  table.empty = "Neither file has a warning or an error.";
  table.columns.insert(table.columns.begin(), text("file", "file"));
  ++table.key_columns;
  table.rows.clear();
  std::vector<Row> in_both;
  std::vector<Row> left = in_b.rows;
  const auto with_file = [](Row row, const char* file) {
    row.insert(row.begin(), Cell(file));
    return row;
  };
  for (const Row& row : in_a.rows) {
    if (const auto same = std::find(left.begin(), left.end(), row); same != left.end()) {
      in_both.push_back(with_file(row, "both"));
      left.erase(same);
    } else {
      table.rows.push_back(with_file(row, "A"));
    }
  }
  for (const Row& row : left) table.rows.push_back(with_file(row, "B"));
  table.rows.insert(table.rows.end(), in_both.begin(), in_both.end());
  return table;
}

}  // namespace ddpprof::report
