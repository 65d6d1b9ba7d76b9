// Warnings about a file's numbers: stored diagnostics, and properties of its steps.
#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "analysis/metrics/conditions.hpp"
#include "analysis/metrics/stability.hpp"
#include "analysis/report/core/words.hpp"
#include "analysis/report/tables/run/run.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::report {
namespace {

constexpr double noisy_half_width = 0.10;  // half width / median above which two N cannot be compared well

// `workers` 0: unknown.
std::string about(const std::string& kind, const std::string& strategy, std::int64_t workers) {
  if (workers == 0) return strategy + " N unknown";
  return fmt::format("{} N={}", kind == "bench-comm" ? kind : strategy, workers);
}

struct Notice {
  std::string severity, where, code, message, advice;
  std::int64_t count = 1;
  std::set<std::int64_t> ranks;
};

int urgency(const std::string& severity) { return severity == "error" ? 0 : severity == "warning" ? 1 : 2; }

// Equal rows of `diagnostic` about the same configuration are combined and their counts added.
std::vector<Notice> stored_notices(SQLite::Database& db) {
  std::map<std::tuple<std::string, std::string, std::string, std::string, std::string>, Notice> merged;
  SQLite::Statement q(
      db,
      "SELECT d.severity, d.code, d.message, d.advice, d.count, d.rank, m.kind, m.strategy, "
      "CASE WHEN EXISTS (SELECT 1 FROM diagnostic u WHERE u.measurement_id = m.id AND u.code = ?) THEN 0 ELSE "
      "m.world_size END "
      "FROM diagnostic d LEFT JOIN measurement m ON m.id = d.measurement_id "
      "WHERE d.severity IN ('warning', 'error') ORDER BY d.rowid");
  q.bind(1, store::world_size_unknown);
  while (q.executeStep()) {
    const std::string where = q.getColumn(6).isNull() ? "the file"
                                                      : about(q.getColumn(6).getString(), q.getColumn(7).getString(),
                                                              q.getColumn(8).getInt64());
    Notice notice{q.getColumn(0).getString(),
                  where,
                  q.getColumn(1).getString(),
                  q.getColumn(2).getString(),
                  q.getColumn(3).getString(),
                  0,
                  {}};
    Notice& kept =
        merged.try_emplace({notice.severity, where, notice.code, notice.message, notice.advice}, notice).first->second;
    kept.count += q.getColumn(4).getInt64();
    if (!q.getColumn(5).isNull()) kept.ranks.insert(q.getColumn(5).getInt64());
  }
  std::vector<Notice> all;
  for (auto& [key, notice] : merged) all.push_back(std::move(notice));
  return all;
}

void add_failed_measurements(SQLite::Database& db, std::vector<Notice>& all) {
  SQLite::Statement q(db,
                      "SELECT kind, strategy, world_size, status, message FROM measurement WHERE status <> 'ok' "
                      "AND kind <> 'import' "  // missing parts of imports are in their diagnostics
                      "ORDER BY kind, strategy, world_size, repeat, id");
  while (q.executeStep()) {
    const std::string where = about(q.getColumn(0).getString(), q.getColumn(1).getString(), q.getColumn(2).getInt64());
    const std::string message = q.getColumn(4).getString();
    all.push_back({"error",
                   where,
                   "measurement_" + q.getColumn(3).getString(),
                   q.getColumn(3).getString() + (message.empty() ? "" : ": " + message),
                   "Its numbers cover only the steps before the failure. Measure it again.",
                   1,
                   {}});
  }
}

// Advice that names keys of a scenario does not apply to imports and recordings.
std::string advice_for(const metrics::Configuration& c, const std::string& advice) {
  if (c.kind != "import" || advice.find("measure.") == std::string::npos) return advice;
  return "Record more steps, or later ones (active and wait of torch.profiler's schedule; ddpprof record --steps), or "
         "add a second run (ddpprof import --append).";
}

// Returns a notice with all causes of a wide median interval and what to do.
Notice noisy_median(const metrics::Configuration& c, const metrics::Conditions& conditions, double width,
                    const std::string& where) {
  Notice notice{"warning", where, "noisy_median", "", "", 1, {}};
  notice.message =
      fmt::format("The interval of the median step is ± {:.0f} % ({} steps in {} repeat{}).", width * 100.0,
                  c.measured.size(), c.measurements.size(), c.measurements.size() == 1 ? "" : "s");
  for (const metrics::Cause& cause : causes_of_noise(c, conditions)) {
    notice.message += " " + cause.text;
    if (notice.advice.find(cause.advice) == std::string::npos)
      notice.advice += (notice.advice.empty() ? "" : " ") + cause.advice;
  }
  notice.advice = advice_for(c, notice.advice);
  return notice;
}

// Adds disturbances of the measurements and instabilities of the steps.
void add_conditions(const Source& source, const metrics::Conditions& conditions, std::vector<Notice>& all) {
  const auto add = [&](const metrics::Configuration& c, const metrics::Disturbance& d, const std::string& where) {
    all.push_back({"warning", where, d.code, d.message, advice_for(c, d.advice), d.count, {}});
  };
  for (const metrics::Configuration& c : source.configurations) {
    const std::string where = about(c.kind, c.strategy, c.world_size);
    for (const metrics::Disturbance& d : disturbances(c, conditions)) add(c, d, where);
    for (const metrics::Disturbance& d : unsteadiness(c)) add(c, d, where);
  }
  if (const auto apart = frequencies_apart(source.configurations, conditions))
    add(source.configurations.front(), *apart, "the file");
  if (const auto apart = threads_apart(source.configurations))
    add(source.configurations.front(), *apart, "the file");
}

void add_derived(const Source& source, std::vector<Notice>& all) {
  const metrics::Conditions conditions = metrics::read_conditions(source.db);
  add_conditions(source, conditions, all);
  for (const metrics::Configuration& c : source.configurations) {
    const std::string where = about(c.kind, c.strategy, c.world_size);
    const bool said = std::any_of(all.begin(), all.end(), [&](const Notice& n) {
      return n.where == where && n.code.find("oversubscri") != std::string::npos;
    });
    if (c.oversubscription > 1.0 && !said) {
      all.push_back({"warning",
                     where,
                     "oversubscribed",
                     fmt::format("{:.0f} compute threads share {} core{} ({:.3g} threads per core): the step times "
                                 "include waiting for a core.",
                                 c.oversubscription * static_cast<double>(c.cores), c.cores, c.cores == 1 ? "" : "s",
                                 c.oversubscription),
                     "The step is shorter on a machine where every rank has its own cores. The scaling shown here is "
                     "valid for this machine only.",
                     1,
                     {}});
    }
    if (c.incomplete_steps > 0) {
      all.push_back({"warning",
                     where,
                     "incomplete_steps",
                     fmt::format("Left out: {} measured step{} that at least one rank did not record.",
                                 c.incomplete_steps, c.incomplete_steps == 1 ? "" : "s"),
                     "See ddpprof report --report diagnostics for the reason.",
                     c.incomplete_steps,
                     {}});
    }
    if (c.kind == "import" && !c.step_times_only && c.timed().size() == 1)
      all.push_back({"warning",
                     where,
                     "one_step",
                     "Only one step was measured. It shows neither how much steps vary nor whether it is a usual one, "
                     "and the intervals of predictions do not contain this.",
                     advice_for(c, "Increase measure.steps."),
                     1,
                     {}});
    if (!c.measured.empty()) {
      const double width = metrics::median_of(c.timed(), &metrics::RunStep::duration_s).relative_half_width();
      if (width > noisy_half_width) {
        all.push_back(noisy_median(c, conditions, width, where));
      }
    }
  }
}

}  // namespace

Table notices_table(const Source& source) {
  std::vector<Notice> all = stored_notices(source.db);
  add_failed_measurements(source.db, all);
  add_derived(source, all);
  std::stable_sort(all.begin(), all.end(),
                   [](const Notice& a, const Notice& b) { return urgency(a.severity) < urgency(b.severity); });
  Table table;
  table.name = "notices";
  table.title = "Warnings and errors";
  table.empty = "No warnings or errors.";
  table.columns = {text("severity", "severity"), text("about", "about"),  text("code", "code"),
                   text("ranks", "ranks"),       count("count", "count"), prose("message", "what"),
                   prose("advice", "what to do")};
  table.key_columns = 2;
  for (const Notice& n : all) {
    table.rows.push_back(
        {n.severity, n.where, n.code, n.ranks.empty() ? Cell() : Cell(joined(n.ranks)), n.count, n.message, n.advice});
  }
  return table;
}

Table diagnostics_table(const Source& source) {
  Table table;
  table.name = "diagnostics";
  table.title = "Diagnostics";
  table.empty = "No warnings or errors.";
  table.columns = {text("severity", "severity"), text("strategy", "strategy"), count("workers", "N", "workers"),
                   count("repeat", "repeat"),    count("rank", "rank"),        text("code", "code"),
                   count("count", "count"),      prose("message", "what"),     prose("advice", "what to do")};
  table.columns[3].hide_constant = true;
  table.key_columns = 3;
  SQLite::Statement q(
      source.db,
      "SELECT d.severity, m.strategy, m.world_size, m.repeat, d.rank, d.code, d.count, d.message, d.advice "
      "FROM diagnostic d LEFT JOIN measurement m ON m.id = d.measurement_id "
      "ORDER BY CASE d.severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, m.strategy, "
      "m.world_size, m.repeat, d.rank, d.code, d.rowid");
  while (q.executeStep()) {
    const auto integer = [&](int i) { return q.getColumn(i).isNull() ? Cell() : Cell(q.getColumn(i).getInt64()); };
    table.rows.push_back({q.getColumn(0).getString(),
                          q.getColumn(1).isNull() ? Cell() : Cell(q.getColumn(1).getString()), integer(2), integer(3),
                          integer(4), q.getColumn(5).getString(), q.getColumn(6).getInt64(), q.getColumn(7).getString(),
                          q.getColumn(8).getString()});
  }
  return table;
}

std::string profiler_text(SQLite::Database& db) {
  std::string text;
  for (const char* code : {"profiler_cost", "device_idle"}) {
    SQLite::Statement q(db,
                        "SELECT d.message, d.advice FROM diagnostic d LEFT JOIN measurement m ON m.id = "
                        "d.measurement_id WHERE d.code = ? ORDER BY m.world_size DESC, d.rowid LIMIT 1");
    q.bind(1, code);
    if (!q.executeStep()) continue;
    for (int column = 0; column < 2; ++column)
      text += (text.empty() ? "" : " ") + as_sentence(q.getColumn(column).getString());
  }
  return text;
}

}  // namespace ddpprof::report
