#include "analysis/report/trained_rates.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "analysis/report/columns.hpp"
#include "tracer/store/database.hpp"
#include "tracer/store/error.hpp"

namespace ddpprof::report {
namespace {

constexpr std::int64_t most_steps = std::int64_t{1} << 53;  // a file may say anything, and sums are made of it

std::int64_t resumed_step(const std::string& options) {
  const auto parsed = nlohmann::json::parse(options, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object() || !parsed.contains("resumed_step") || !parsed["resumed_step"].is_number_integer()) return 0;
  return std::clamp<std::int64_t>(parsed["resumed_step"].get<std::int64_t>(), 0, most_steps);
}

}  // namespace

std::vector<TrainedRates> trained_rates(store::Database& database, const PlannedRate& planned) {
  try {
    std::map<std::int64_t, TrainedRates> all;
    // The warm-up steps after the last measured one are those of the copy without the DDP wrapper.
    SQLite::Statement row(
        database.sql(),
        "SELECT m.id, m.strategy, m.world_size, m.repeat, m.options, st.step, st.learning_rate FROM step st "
        "JOIN shard sh ON sh.id = st.shard_id JOIN measurement m ON m.id = sh.measurement_id "
        "LEFT JOIN (SELECT shard_id, MAX(step) AS step FROM step WHERE kind = 'measured' GROUP BY shard_id) l "
        "ON l.shard_id = st.shard_id WHERE m.kind = 'train' AND st.learning_rate IS NOT NULL AND st.step BETWEEN 0 AND "
        "? "
        "AND st.kind <> 'unwrapped' AND st.step <= COALESCE(l.step, st.step) ORDER BY m.id, st.step, sh.rank");
    row.bind(1, most_steps);
    std::int64_t current = -1, offset = 0, last_step = -1, last_unlike = -1;
    while (row.executeStep()) {
      const std::int64_t id = row.getColumn(0).getInt64();
      const bool fresh = id != current;
      TrainedRates& rates = all[id];
      if (fresh) {
        current = id;
        last_step = last_unlike = -1;
        offset = resumed_step(row.getColumn(4).getString());
        rates.strategy = row.getColumn(1).getString();
        rates.workers = row.getColumn(2).getInt64();
        rates.repeat = row.getColumn(3).getInt64();
      }
      const std::int64_t number = row.getColumn(5).getInt64(), step = offset + number;
      const double rate = row.getColumn(6).getDouble(), plan = planned(rates.workers, step);
      if (fresh) {
        rates.first_step = step;
        rates.first_lr = rate;
      }
      const bool unlike = rate != plan;
      if (number != last_step) ++rates.steps;
      if (unlike && last_unlike != number) {
        ++rates.unlike;
        last_unlike = number;
      }
      last_step = number;
      rates.last_lr = rate;
      rates.last_planned_lr = plan;
      if (unlike)
        rates.largest_difference =
            std::max(rates.largest_difference, plan > 0.0 ? std::abs(rate - plan) / plan : INFINITY);
    }
    std::vector<TrainedRates> list;
    for (auto& [id, rates] : all) list.push_back(std::move(rates));
    return list;
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

Table trained_rates_table(const std::vector<TrainedRates>& all, const std::string& plan) {
  Table table;
  table.name = "trained_rates";
  table.title = "Learning rate as trained";
  table.note = fmt::format(
      "What the optimizer stepped with, as the trace has it, beside the scenario's plan: {}. Unlike: steps with "
      "another "
      "rate than the planned one, to the bit.",
      plan);
  table.empty = "No rates in this file: it was recorded by an earlier version, without a trace, or by another program.";
  table.columns = {text("strategy", "strategy", true),
                   count("workers", "N", "workers"),
                   count("repeat", "repeat"),
                   count("first_step", "from step", "steps"),
                   count("steps", "steps", "steps"),
                   digits(quantity("first_lr", "first", ""), 4),
                   digits(quantity("last_lr", "last", ""), 4),
                   digits(quantity("last_planned_lr", "last, planned", ""), 4),
                   count("unlike_steps", "unlike", "steps"),
                   share("largest_difference", "largest difference")};
  table.columns[2].hide_constant = true;
  table.key_columns = 3;
  for (const TrainedRates& rates : all)
    table.rows.push_back({rates.strategy, rates.workers, rates.repeat, rates.first_step, rates.steps, rates.first_lr,
                          rates.last_lr, rates.last_planned_lr, rates.unlike,
                          std::isfinite(rates.largest_difference) ? Cell(rates.largest_difference) : Cell()});
  return table;
}

}  // namespace ddpprof::report
